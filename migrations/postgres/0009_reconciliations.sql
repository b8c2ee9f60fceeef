-- The latest comparison of each integration and month with the provider's list
-- (workspaces/reconciliations.ts).
CREATE TABLE reconciliations (
  integration text NOT NULL REFERENCES integrations (id),
  -- YYYY-MM
  month text NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'done', 'failed')),
  -- When it is to be compared, of one that waits.
  due_at timestamptz NOT NULL,
  -- Why it waits or failed, a sentence for a person; null when all is well.
  problem text,
  -- What was found last, and when (schemas/reconciliation.ts); it stays while it is compared again.
  compared_at timestamptz,
  report jsonb,
  PRIMARY KEY (integration, month)
);
CREATE INDEX reconciliations_due ON reconciliations (due_at) WHERE state = 'waiting';
