-- Who the accounts are (customers/customers.ts): only for members, sealed by the vault. A workspace
-- says who may see it.
ALTER TABLE workspaces
  ADD COLUMN customer_details text NOT NULL DEFAULT 'members'
    CHECK (customer_details IN ('members', 'admins', 'off')),
  -- Grows with each change of it: what processes remember of customers from before counts no more.
  ADD COLUMN customer_details_revision integer NOT NULL DEFAULT 0;

CREATE TABLE customers (
  workspace text NOT NULL REFERENCES workspaces (id),
  -- A keyed hash of workspace, environment, provider and the provider's own id.
  account text NOT NULL,
  environment text CHECK (environment IN ('live', 'test')),
  provider text,
  -- Keyed hashes within the environment, for exact search; of an e-mail trimmed and in lower case.
  id_hash text,
  email_hash text,
  -- JSON, bound to the account. Null: a person erased it, and nothing is kept of it again.
  sealed bytea,
  -- When the provider last said something new, ms since 1970.
  told_at bigint,
  PRIMARY KEY (workspace, account),
  CHECK (
    CASE WHEN sealed IS NULL
      THEN id_hash IS NULL AND email_hash IS NULL AND told_at IS NULL
      ELSE environment IS NOT NULL AND provider IS NOT NULL AND told_at IS NOT NULL
    END
  )
);
CREATE INDEX customers_id ON customers (workspace, id_hash) WHERE id_hash IS NOT NULL;
CREATE INDEX customers_email ON customers (workspace, email_hash) WHERE email_hash IS NOT NULL;
