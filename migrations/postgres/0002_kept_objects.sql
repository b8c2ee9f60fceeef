-- Objects a provider reports whole once and later only names (a discount's id on a subscription).
-- Only what decoding needs is kept, nothing personal.
CREATE TABLE kept_objects (
  workspace text NOT NULL REFERENCES workspaces (id),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  provider text NOT NULL,
  id text NOT NULL,
  -- When the provider reported it, ms since 1970: the newest telling counts.
  told_at bigint NOT NULL,
  -- Ids of further kept objects this one only names.
  refers text[] NOT NULL,
  object jsonb NOT NULL,
  PRIMARY KEY (workspace, environment, provider, id)
);
