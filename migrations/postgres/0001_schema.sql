-- Workspaces, keys, integrations. Secrets are sealed by the vault (vault/vault.ts), keys and
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

-- Counts the changes of each catalogue, named by workspace and environment; who changes one holds
-- its row. Readers see by it what to read again.
CREATE TABLE catalogue_revisions (
  name text PRIMARY KEY,
  revision bigint NOT NULL
);

-- What was promised to callers of the ingest endpoint: the same again gets the same answer.
-- `identity` is 'event:<id>' (kept for ever) or 'key:<Idempotency-Key>' (until expires_at).
CREATE TABLE ingest_receipts (
  workspace text NOT NULL,
  environment text NOT NULL,
  identity text NOT NULL,
  body_hash bytea NOT NULL,
  answer json NOT NULL,
  -- False between the claim and the durable append: a repeat appends again.
  durable boolean NOT NULL DEFAULT false,
  expires_at timestamptz,
  PRIMARY KEY (workspace, environment, identity)
  -- Half a page stays free: a row marked durable stays on its page, and no index is written again.
) WITH (fillfactor = 50);
CREATE INDEX ingest_receipts_expiry ON ingest_receipts (expires_at) WHERE expires_at IS NOT NULL;

-- Rates beyond the bundled ones, append-only. A quote is looked up among editions up to the one
-- stamped on the raw event.
CREATE TABLE rate_editions (
  edition integer PRIMARY KEY,
  note text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Days of which the wide list was asked for and does not exist: the list before them goes on counting
  -- there, while a day that was never asked for may have another rate (rates/rates.ts).
  absent_days date[] NOT NULL DEFAULT '{}'
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

-- Objects a provider reports whole once and later only names (a discount's id on a subscription).
-- Only what decoding needs is kept, nothing personal.
CREATE TABLE kept_objects (
  workspace text NOT NULL REFERENCES workspaces (id),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  provider text NOT NULL,
  id text NOT NULL,
  -- When the provider reported it, ms since 1970: the newest counts.
  reported_at bigint NOT NULL,
  -- Ids of further kept objects this one only names.
  refers text[] NOT NULL,
  object jsonb NOT NULL,
  PRIMARY KEY (workspace, environment, provider, id)
);

-- What providers' APIs answered, with the raw record it was asked for: a replay of the raw topic
-- reads it and asks nothing. One row for each record and step that asked.
CREATE TABLE kept_answers (
  workspace text NOT NULL REFERENCES workspaces (id),
  event_id text NOT NULL,
  -- Of the raw record, ms since 1970: a replayed reject asks anew under its new receipt time.
  received_at bigint NOT NULL,
  step text NOT NULL CHECK (step IN ('complete', 'enrich')),
  -- When it was answered, by the receipt clock: the recorded time of what the answers add.
  answered_at bigint NOT NULL,
  -- The event could be read with these answers; a redelivery uses them too.
  concluded boolean NOT NULL,
  -- What the answers add is published. If not, it is received when it is, because figures may have
  -- been complete without it meanwhile (processors/enrich/enrich-optional.ts).
  published boolean NOT NULL,
  -- JSON by path, sealed by the vault and bound to the columns above.
  sealed bytea NOT NULL,
  PRIMARY KEY (workspace, event_id, received_at, step)
);
CREATE INDEX kept_answers_age ON kept_answers (received_at);

-- Reading a provider's history. `list` and `after` are where it goes on after a crash.
CREATE TABLE backfills (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  integration text NOT NULL REFERENCES integrations (id),
  from_at timestamptz NOT NULL,
  state text NOT NULL CHECK (state IN ('reading', 'comparing', 'done', 'different', 'failed')),
  list text NOT NULL,
  -- The provider's cursor within the list; null at its beginning.
  after text,
  -- Objects read so far, by list.
  counts jsonb NOT NULL,
  -- What the comparison found, by month and currency; null before it.
  comparison jsonb,
  -- Why it waits or failed, a sentence for a person; null when all is well.
  problem text,
  -- A process works on it until then; another that does so too changes nothing.
  leased_until timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX backfills_integration ON backfills (integration, created_at DESC);
CREATE UNIQUE INDEX backfills_running ON backfills (integration)
  WHERE state IN ('reading', 'comparing');

-- Audits: asked for, running, and what they found (audits/audits.ts).
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

-- Calls of each integration's webhook URL by what became of them: `taken`, or the code of the
-- refusal (workspaces/integration-calls.ts). For a person's eye; no figure depends on it.
CREATE TABLE integration_calls (
  integration text NOT NULL REFERENCES integrations (id),
  verdict text NOT NULL,
  calls bigint NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (integration, verdict)
);

-- Ids by which messages on the public topics name their schema (log/registry): a row
-- stands here before the first message that carries its id, and never goes.
CREATE TABLE schema_ids (
  topic text NOT NULL,
  id integer NOT NULL,
  -- Who gave the id: the URL of a registry, without credentials; empty for our own.
  registry text NOT NULL,
  version integer NOT NULL,
  schema text NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (topic, id, registry)
);

-- What several processes agree on.

-- What one of them does at a time, or any of them once in a while.
CREATE TABLE leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  until timestamptz NOT NULL
);

-- Running processes, and the earliest receipt time each may still stamp (watermark/shared-watermark.ts).
CREATE TABLE ingest_processes (
  process text PRIMARY KEY,
  -- ms since 1970: it stamps nothing earlier, and all its earlier events are in the log.
  earliest bigint NOT NULL,
  until timestamptz NOT NULL
);

-- Nothing received later than this was ever reported as complete (watermark/persisted-watermark.ts):
-- one row.
CREATE TABLE persisted_watermark (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- ms since 1970
  until bigint NOT NULL
);

-- Where credentials were entered: what waits for that provider's API is replayed when every process asks with
-- them (rejects/credential-replays.ts).
CREATE TABLE credential_replays (
  workspace text NOT NULL REFERENCES workspaces (id),
  provider text NOT NULL,
  -- Another one each time: what is entered while a replay goes on is not cleared by its end.
  note text NOT NULL,
  -- When a process that replays saw it first, so after the credentials could be read.
  seen_at timestamptz,
  PRIMARY KEY (workspace, provider)
);

-- People who sign in, and what they did (definitions.md, Dashboard and sign-in). Names and e-mails
-- are sealed by the vault; subjects of identity providers are keyed hashes; tokens are SHA-256.

CREATE TABLE users (
  id text PRIMARY KEY,
  name_sealed bytea NOT NULL,
  email_sealed bytea,
  owns_installation boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL
);

-- Who they are to an identity provider. Never joined by e-mail.
CREATE TABLE identities (
  id text PRIMARY KEY,
  member text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider text NOT NULL,
  issuer text NOT NULL,
  subject_hash bytea NOT NULL,
  created_at timestamptz NOT NULL,
  UNIQUE (issuer, subject_hash)
);
CREATE INDEX identities_member ON identities (member);

CREATE TABLE passkeys (
  id text PRIMARY KEY,
  member text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- As the authenticator names it, base64url.
  credential text NOT NULL UNIQUE,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  name text,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz
);
CREATE INDEX passkeys_member ON passkeys (member);

CREATE TABLE memberships (
  workspace text NOT NULL REFERENCES workspaces (id),
  member text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('viewer', 'admin', 'owner')),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (workspace, member)
);
CREATE INDEX memberships_member ON memberships (member);

CREATE TABLE sessions (
  id text PRIMARY KEY,
  member text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  token_hash bytea NOT NULL UNIQUE,
  -- The token before a change of role counts a moment longer: calls are under way with it.
  previous_hash bytea UNIQUE,
  previous_until timestamptz,
  -- The next call gets a new token: a role of its member changed.
  renew boolean NOT NULL DEFAULT false,
  -- How it began: the name of an identity provider, passkey or link.
  began_by text NOT NULL,
  -- The provider's own session and subject, for sign-out from there.
  issuer text,
  subject_hash bytea,
  sid_hash bytea,
  id_token_sealed bytea,
  created_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_member ON sessions (member);
CREATE INDEX sessions_subject ON sessions (issuer, subject_hash) WHERE issuer IS NOT NULL;

CREATE TABLE invitations (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  role text NOT NULL CHECK (role IN ('viewer', 'admin', 'owner')),
  token_hash bytea NOT NULL UNIQUE,
  email_sealed bytea,
  domain text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  spent_at timestamptz
);
CREATE INDEX invitations_workspace ON invitations (workspace, created_at DESC, id DESC);

-- What counts once: links that sign the owner in, states of sign-ins, ids of sign-outs.
CREATE TABLE one_time_tokens (
  token_hash bytea PRIMARY KEY,
  purpose text NOT NULL CHECK (purpose IN ('setup', 'sign-in', 'spent')),
  expires_at timestamptz NOT NULL
);

-- Append-only: who changed what. Nothing here is a secret or a name.
CREATE TABLE activity (
  id text PRIMARY KEY,
  -- Null: of the installation.
  workspace text REFERENCES workspaces (id),
  created_at timestamptz NOT NULL,
  -- A user's id, administrator, or the part of the service that acted by itself.
  actor text NOT NULL,
  action text NOT NULL,
  object text NOT NULL,
  request_id text NOT NULL
);
CREATE INDEX activity_created ON activity (workspace, created_at DESC, id DESC);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'the activity log is append-only'; END $$;
CREATE TRIGGER activity_append_only BEFORE UPDATE OR DELETE ON activity
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE saved_views (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  -- Null: made with the administrator token, or its member is gone.
  member text REFERENCES users (id) ON DELETE SET NULL,
  shared boolean NOT NULL,
  name text NOT NULL,
  -- Path and query within the dashboard.
  path text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX saved_views_workspace ON saved_views (workspace, created_at DESC, id DESC);

CREATE TABLE annotations (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  day date NOT NULL,
  text text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX annotations_workspace ON annotations (workspace, created_at DESC, id DESC);
