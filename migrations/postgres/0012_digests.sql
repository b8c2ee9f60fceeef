-- Who gets the figures of a period, how often and by which channel (workspaces/digests.ts).
CREATE TABLE digests (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  -- Null: it goes to the workspace's own channel.
  member text REFERENCES users (id) ON DELETE CASCADE,
  channel text NOT NULL CHECK (channel IN ('email', 'slack')),
  frequency text NOT NULL CHECK (frequency IN ('daily', 'weekly', 'monthly')),
  -- Of Slack: whoever has the URL may post there.
  url_sealed bytea,
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
  CHECK ((channel = 'email') = (member IS NOT NULL)),
  CHECK ((channel = 'slack') = (url_sealed IS NOT NULL))
);
CREATE UNIQUE INDEX digests_receiver ON digests (workspace, coalesce(member, ''));
CREATE INDEX digests_due ON digests (due_at);
