-- Named filters of a workspace. Every revision is kept, also of what was deleted: frozen links name
-- revisions, and go on showing what they showed (workspaces/segments.ts).
CREATE TABLE segments (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  -- Products and accounts are of one.
  environment text NOT NULL,
  name text NOT NULL,
  -- The newest.
  revision integer NOT NULL,
  deleted_at timestamptz,
  created_at timestamptz NOT NULL
);
CREATE INDEX segments_workspace ON segments (workspace, created_at DESC, id DESC);

CREATE TABLE segment_revisions (
  segment text NOT NULL REFERENCES segments (id),
  revision integer NOT NULL,
  -- By the names of the interface, each as its parameter has it.
  filters jsonb NOT NULL,
  -- Keyed hashes; null: of all accounts.
  accounts text[],
  created_at timestamptz NOT NULL,
  PRIMARY KEY (segment, revision)
);
