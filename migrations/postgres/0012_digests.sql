-- Which members get the figures of a period by e-mail, and how often (workspaces/digests.ts).
CREATE TABLE digests (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  member text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  frequency text NOT NULL CHECK (frequency IN ('daily', 'weekly', 'monthly')),
  -- Where the dashboard was when it was chosen: links begin with it.
  origin text NOT NULL,
  -- End of the period that is reported next, not included.
  period_end timestamptz NOT NULL,
  -- When it is tried next; whoever moves this sends it.
  due_at timestamptz NOT NULL,
  -- Of this period so far.
  tries integer NOT NULL DEFAULT 0,
  -- Why the last try failed, a sentence for a person.
  problem text,
  sent_at timestamptz,
  created_at timestamptz NOT NULL,
  UNIQUE (workspace, member)
);
CREATE INDEX digests_due ON digests (due_at);
