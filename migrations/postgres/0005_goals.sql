-- What a figure is meant to be: one amount for each month, drawn as a line on its chart.
CREATE TABLE goals (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  figure text NOT NULL,
  -- YYYY-MM
  month text NOT NULL,
  -- Minor units of the base currency.
  amount bigint NOT NULL,
  created_at timestamptz NOT NULL,
  UNIQUE (workspace, figure, month)
);
CREATE INDEX goals_workspace ON goals (workspace, created_at DESC, id DESC);
