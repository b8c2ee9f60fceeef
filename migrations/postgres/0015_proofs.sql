-- Public pages of one figure: what each shows, and how (workspaces/proofs.ts).
CREATE TABLE proofs (
  -- Drawn at random: whoever knows the address may read it, and nobody guesses it.
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  business text NOT NULL,
  title text NOT NULL,
  figure text NOT NULL,
  -- Filters of the interface, by name.
  filters jsonb NOT NULL,
  -- Whole calendar months the figure is of; null: it is of one moment.
  months integer,
  shown_as text NOT NULL,
  -- Both or neither: the two clocks of a frozen one.
  at timestamptz,
  known_at timestamptz,
  -- Where the service was when it was made; statements name it where PUBLIC_URL is not set.
  origin text NOT NULL,
  expires_at timestamptz,
  -- Kept, so that its address says that it was revoked.
  revoked_at timestamptz,
  created_at timestamptz NOT NULL
);
CREATE INDEX proofs_workspace ON proofs (workspace, created_at DESC, id DESC);
