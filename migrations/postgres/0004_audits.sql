-- Audits: asked for, running, and what they found (backends/audits.ts).
CREATE TABLE audits (
  id text PRIMARY KEY,
  asked_by text NOT NULL CHECK (asked_by IN ('night', 'administrator', 'command')),
  -- Null: every workspace.
  workspace text REFERENCES workspaces (id),
  state text NOT NULL CHECK (state IN ('waiting', 'running', 'clean', 'different', 'failed')),
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  -- Rows compared and rows that are not as they should be.
  rows_compared bigint NOT NULL DEFAULT 0,
  differences bigint NOT NULL DEFAULT 0,
  -- By workspace, environment and table, where anything differs (schemas/audit.ts).
  findings jsonb NOT NULL DEFAULT '[]',
  -- Why it could not come to an end.
  failure text
);
CREATE INDEX audits_created ON audits (created_at DESC, id DESC);
