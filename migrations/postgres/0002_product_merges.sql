-- What a merge took in, by the id of its row in the activity log: with it a merge is undone.
CREATE TABLE product_merges (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  -- Into which one. It may be gone since.
  product text NOT NULL,
  -- The products as they were, each with its SKUs.
  merged jsonb NOT NULL,
  undone_at timestamptz
);
