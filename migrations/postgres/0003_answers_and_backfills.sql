-- What providers' APIs answered, with the raw record it was asked for: a replay of the raw topic
-- reads it and asks nothing. One row for each record and step that asked.
CREATE TABLE kept_answers (
  workspace text NOT NULL REFERENCES workspaces (id),
  event_id text NOT NULL,
  -- Of the raw record, ms since 1970: a replayed reject asks anew under its new receipt time.
  received_at bigint NOT NULL,
  step text NOT NULL CHECK (step IN ('complete', 'adorn')),
  -- When it was answered, by the receipt clock: the recorded time of what the answers add.
  answered_at bigint NOT NULL,
  -- The event could be read with these answers; a redelivery uses them too.
  concluded boolean NOT NULL,
  -- JSON by path, sealed by the vault and bound to the columns above.
  sealed bytea NOT NULL,
  PRIMARY KEY (workspace, event_id, received_at, step)
);
CREATE INDEX kept_answers_age ON kept_answers (received_at);

-- Reading a provider's history. `list` and `after` are where it goes on after a crash.
CREATE TABLE backfills (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  integration text NOT NULL REFERENCES integrations (id),
  from_at timestamptz NOT NULL,
  state text NOT NULL CHECK (state IN ('reading', 'comparing', 'done', 'different', 'failed')),
  list text NOT NULL,
  -- The provider's cursor within the list; null at its beginning.
  after text,
  -- Objects read so far, by list.
  counts jsonb NOT NULL,
  -- What the comparison found, by month and currency; null before it.
  comparison jsonb,
  -- Why it waits or failed, a sentence for a person; null when all is well.
  problem text,
  -- A process works on it until then; another that does so too changes nothing.
  leased_until timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX backfills_integration ON backfills (integration, created_at DESC);
CREATE UNIQUE INDEX backfills_running ON backfills (integration)
  WHERE state IN ('reading', 'comparing');
