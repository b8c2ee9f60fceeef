-- Workspaces, keys, integrations. Secrets are sealed by the vault (backends/vault.ts), keys and
-- webhook tokens are looked up by their SHA-256.

CREATE TABLE workspaces (
  id text PRIMARY KEY,
  name text NOT NULL,
  base_currency text NOT NULL CHECK (base_currency IN ('USD', 'EUR', 'GBP', 'INR', 'JPY')),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  scope text NOT NULL CHECK (scope IN ('Read-only', 'Full Ingress')),
  name text,
  prefix text NOT NULL,
  key_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
CREATE INDEX api_keys_workspace ON api_keys (workspace, created_at DESC, id DESC);

CREATE TABLE integrations (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  provider text NOT NULL,
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  name text,
  token_hash bytea NOT NULL UNIQUE,
  token_sealed bytea NOT NULL,
  credentials_sealed bytea NOT NULL,
  previous_credentials_sealed bytea,
  previous_valid_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE INDEX integrations_workspace ON integrations (workspace, created_at DESC, id DESC);

-- The catalogue: unified products and the SKUs grouped in them (definitions.md, Products).
CREATE TABLE products (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  name text NOT NULL,
  -- Null until a SKU of it was named, or when a person split it off: nothing joins it by name.
  slug text,
  named_by_person boolean NOT NULL DEFAULT false,
  -- Null: nobody has chosen, it follows from the providers.
  category text CHECK (category IN ('SaaS', 'Mobile App', 'Desktop App', 'Digital Asset')),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (workspace, environment, slug)
);

CREATE TABLE skus (
  workspace text NOT NULL REFERENCES workspaces (id),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  provider text NOT NULL,
  external_id text NOT NULL,
  -- The name the provider gives it; null until reported.
  name text,
  named_at timestamptz,
  product text NOT NULL REFERENCES products (id),
  PRIMARY KEY (workspace, environment, provider, external_id)
);
CREATE INDEX skus_product ON skus (product);

-- What was promised to callers of the ingest endpoint: the same again gets the same answer.
-- `identity` is 'event:<id>' (kept for ever) or 'key:<Idempotency-Key>' (until expires_at).
CREATE TABLE ingest_receipts (
  workspace text NOT NULL,
  environment text NOT NULL,
  identity text NOT NULL,
  body_hash bytea NOT NULL,
  answer jsonb NOT NULL,
  -- False between the claim and the durable append: a repeat appends again.
  durable boolean NOT NULL DEFAULT false,
  expires_at timestamptz,
  PRIMARY KEY (workspace, environment, identity)
);
CREATE INDEX ingest_receipts_expiry ON ingest_receipts (expires_at) WHERE expires_at IS NOT NULL;

-- Rates beyond the bundled ones, append-only. A quote is looked up among editions up to the one
-- stamped on the raw event.
CREATE TABLE rate_editions (
  edition integer PRIMARY KEY,
  note text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE rate_quotes (
  edition integer NOT NULL REFERENCES rate_editions (edition),
  source text NOT NULL CHECK (source IN ('ecb', 'wide')),
  day date NOT NULL,
  currency text NOT NULL,
  -- Units of the currency for one EUR, as published.
  per_eur text NOT NULL,
  PRIMARY KEY (source, day, currency, edition)
);

-- Keys the service made for itself, sealed by the vault: they outlive a rotation of the vault key.
CREATE TABLE sealed_secrets (
  name text PRIMARY KEY,
  sealed bytea NOT NULL
);
