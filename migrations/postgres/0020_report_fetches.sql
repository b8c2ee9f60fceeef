-- Where a report came from, and when reports are fetched (workspaces/history/report-fetches.ts).
ALTER TABLE store_reports ADD COLUMN source text NOT NULL DEFAULT 'file'
  CHECK (source IN ('file', 'api'));

CREATE TABLE report_fetches (
  integration text PRIMARY KEY REFERENCES integrations (id),
  state text NOT NULL CHECK (state IN ('waiting', 'done', 'failed')),
  due_at timestamptz NOT NULL,
  -- Why it waits or failed.
  problem text,
  -- The last that ended, and how many reports it kept.
  fetched_at timestamptz,
  kept integer NOT NULL DEFAULT 0
);
CREATE INDEX report_fetches_due ON report_fetches (due_at) WHERE state = 'waiting';
