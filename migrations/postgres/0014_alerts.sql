-- Chat programs that take Slack's incoming webhooks: one channel of a workspace.
CREATE TABLE chat_channels (
  id text PRIMARY KEY,
  workspace text NOT NULL UNIQUE REFERENCES workspaces (id),
  url_sealed bytea NOT NULL,
  -- All that is shown of the URL.
  host text NOT NULL,
  created_at timestamptz NOT NULL
);

-- A digest of nobody's own is one of the workspace, sent to its chat channel.
ALTER TABLE digests ALTER COLUMN member DROP NOT NULL;
CREATE UNIQUE INDEX digests_of_workspace ON digests (workspace) WHERE member IS NULL;

-- What is watched, and who is told (workspaces/alerts/alerts.ts).
CREATE TABLE alerts (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  -- As schemas/http/alerts.ts has them.
  rule jsonb NOT NULL,
  channels jsonb NOT NULL,
  quiet jsonb,
  paused boolean NOT NULL,
  -- Where the dashboard was when it was made: links begin with it.
  origin text NOT NULL,
  is_met boolean NOT NULL,
  -- What happened up to then has been judged.
  judged_to timestamptz NOT NULL,
  fired_at timestamptz,
  -- When it is looked at next; whoever moves this looks.
  due_at timestamptz NOT NULL,
  -- Why the last look failed, a sentence for a person.
  problem text,
  created_at timestamptz NOT NULL
);
CREATE INDEX alerts_due ON alerts (due_at) WHERE NOT paused;
CREATE INDEX alerts_by_workspace ON alerts (workspace, created_at, id);

CREATE TABLE alert_firings (
  id text PRIMARY KEY,
  alert text NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
  workspace text NOT NULL,
  -- The moment the value is of.
  at timestamptz NOT NULL,
  value double precision NOT NULL,
  sentence text NOT NULL,
  link text NOT NULL,
  ended_at timestamptz,
  created_at timestamptz NOT NULL
);
CREATE INDEX alert_firings_by_alert ON alert_firings (alert, created_at, id);
CREATE INDEX alert_firings_by_workspace ON alert_firings (workspace, created_at, id);

-- One row for each firing and channel; those that are sent together are one message.
CREATE TABLE alert_messages (
  id text PRIMARY KEY,
  firing text NOT NULL REFERENCES alert_firings (id) ON DELETE CASCADE,
  workspace text NOT NULL,
  -- 'chat', or 'email' and the member.
  channel text NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'sent', 'given_up')),
  -- When it is tried next; whoever moves this sends it.
  due_at timestamptz NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  problem text,
  -- The message it was tried in last.
  sent_in text,
  sent_at timestamptz
);
CREATE INDEX alert_messages_due ON alert_messages (due_at) WHERE state = 'waiting';
CREATE INDEX alert_messages_by_firing ON alert_messages (firing);
CREATE INDEX alert_messages_sent ON alert_messages (workspace, channel, sent_at);
