-- Baseline: 15 had the checksum 37a525a9e99e1a5cfaafef8eea3db7dfb64019bfc7f102142e54064f1aa9fdb2
-- The tables as version 0.1.0 had them, in the place of its migrations 1 to 15.

-- Workspaces, keys, integrations. Secrets are sealed by the vault (stores/vault/), keys and
-- webhook tokens are looked up by their SHA-256.

CREATE TABLE workspaces (
  id text PRIMARY KEY,
  name text NOT NULL,
  base_currency text NOT NULL CHECK (base_currency IN ('USD', 'EUR', 'GBP', 'INR', 'JPY')),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Who may see who the accounts are.
  customer_details text NOT NULL DEFAULT 'members'
    CHECK (customer_details IN ('members', 'admins', 'off')),
  -- Grows with each change of it: what processes remember of customers from before counts no more.
  customer_details_revision integer NOT NULL DEFAULT 0
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
  -- there, while a day that was never asked for may have another rate (workspaces/rates/rates.ts).
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
  updated_at timestamptz NOT NULL,
  -- When the first page of the list it reads was asked for, for an estimate of the time that is left.
  list_since timestamptz,
  -- {from, to} in ms since 1970, of the pages read so far; null where the list is in no such order.
  through jsonb,
  -- Of a provider that lists nothing by itself: what a person uploaded for it to be asked about.
  ids jsonb NOT NULL DEFAULT '[]',
  -- From then on all is listed, whatever was uploaded; null: from from_at.
  covers_from timestamptz,
  -- A provider's history may come as a file that a person uploads (workspaces/history/).
  source text NOT NULL DEFAULT 'api' CHECK (source IN ('api', 'export')),
  -- When the file was written; null: what is listed reaches to created_at.
  covers_to timestamptz
);
CREATE INDEX backfills_integration ON backfills (integration, created_at DESC);
CREATE UNIQUE INDEX backfills_running ON backfills (integration)
  WHERE state IN ('reading', 'comparing');

-- Lines of uploaded files until they are booked and compared; in the order in which they are read.
CREATE TABLE backfill_lines (
  backfill text NOT NULL REFERENCES backfills (id),
  -- The provider's id of the subscription, or of the purchase itself.
  thing text COLLATE "C" NOT NULL,
  -- When the line's purchase or period began, ms since 1970.
  at bigint NOT NULL,
  -- The provider's id of the purchase.
  purchase text COLLATE "C" NOT NULL,
  -- When the provider changed the line last, ms since 1970: the newest of several is kept.
  revision bigint NOT NULL,
  -- The cells that are read, as JSON by column. Sealed: they name customers.
  sealed bytea NOT NULL,
  PRIMARY KEY (backfill, thing, at, purchase)
);

-- Audits: asked for, running, and what they found (workspaces/audits.ts).
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

-- Ids by which messages on the public topics name their schema (stores/log/registry/): a row
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

-- Running processes, and the earliest receipt time each may still stamp (stores/watermark/shared-watermark.ts).
CREATE TABLE ingest_processes (
  process text PRIMARY KEY,
  -- ms since 1970: it stamps nothing earlier, and all its earlier events are in the log.
  earliest bigint NOT NULL,
  until timestamptz NOT NULL,
  -- Calls in flight by their workspace: a long import holds up the figures of its own workspace only.
  -- Null: the process is of a version that promises only `earliest`, for all of them.
  others bigint,
  by_workspace jsonb
);

-- Nothing received later than this was ever reported as complete (stores/watermark/persisted-watermark.ts):
-- one row.
CREATE TABLE persisted_watermark (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- ms since 1970
  until bigint NOT NULL
);

-- Where credentials were entered: what waits for that provider's API is replayed when every process asks with
-- them (workspaces/rejects/credential-replays.ts).
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

-- The books, where the service runs on servers: what booking knows, how far it is, and what it has
-- yet to publish and to write to ClickHouse (stores/state/postgres-state.ts). Embedded, they lie in the log.

-- How far each partition of the facts topic is booked, and by whom.
CREATE TABLE book_partitions (
  partition integer PRIMARY KEY,
  -- Grows each time the partition is taken: a commit under an earlier one changes nothing.
  epoch bigint NOT NULL,
  -- Of the next fact to be booked.
  next_offset bigint NOT NULL,
  -- Of the last commit.
  sequence bigint NOT NULL,
  -- Bytes of its values in book_outbox.
  queued_bytes bigint NOT NULL
  -- Every commit writes one of these few rows. Most of each page stays free for the versions that
  -- follow: no index is written again, and old versions are cleared away in passing.
) WITH (fillfactor = 10);

-- Payments, accounts and pools by key. An order of bytes: it does not change with the system's
-- collations, and is that of the embedded state.
CREATE TABLE book_values (
  partition integer NOT NULL,
  key text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (partition, key)
  -- Most values are written several times. A tenth of each page stays free: an update then finds
  -- room on its page, and no index is written again (75,000 updates of 120,000 rows: none; on full
  -- pages one in seven).
) WITH (fillfactor = 90);

-- What commits made to be published or written, until it is: a queue for each lane and partition.
CREATE TABLE book_outbox (
  lane text NOT NULL CHECK (lane IN ('messages', 'shown', 'rest')),
  partition integer NOT NULL,
  -- Of the commit.
  sequence bigint NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (lane, partition, sequence)
  -- Rows are removed soon, and the next ones are looked for where those were. So they are vacuumed
  -- by their number: a share means little for a table that is often empty. Its pages are kept for
  -- reuse, since giving them back would lock out commits.
) WITH (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  vacuum_truncate = false,
  toast.autovacuum_vacuum_scale_factor = 0,
  toast.autovacuum_vacuum_threshold = 5000,
  toast.vacuum_truncate = false
);
-- Not compressed: it lives for moments.
ALTER TABLE book_outbox ALTER COLUMN value SET STORAGE EXTERNAL;

-- Batches that are sealed and not removed. What a batch has of a partition is what the partition has
-- in that lane up to a sequence, so no row of the outbox is written again, and a partition is in one
-- batch of a lane at most.
CREATE TABLE book_seals (
  lane text NOT NULL,
  partition integer NOT NULL,
  token text NOT NULL,
  last_sequence bigint NOT NULL,
  PRIMARY KEY (lane, partition)
) WITH (fillfactor = 10);

-- Who the accounts are (workspaces/customers/): only for members, sealed by the vault.
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

-- Which part of the books this database has: place 0 of 1 is all of them, place -1 none, where
-- databases of their own have them (STATE_DATABASE_URLS). Written at the first start.
CREATE TABLE book_place (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  place integer NOT NULL,
  places integer NOT NULL
);

-- The latest comparison of each integration and month with the provider's list
-- (workspaces/history/).
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

-- Which members get the figures of a period by e-mail, and how often (workspaces/digests.ts).
CREATE TABLE digests (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  -- Null: of the workspace, sent to its chat channel.
  member text REFERENCES users (id) ON DELETE CASCADE,
  frequency text NOT NULL CHECK (frequency IN ('daily', 'weekly', 'monthly')),
  -- Where the dashboard was when it was chosen: links begin with it.
  origin text NOT NULL,
  -- End of the period that is reported next, not included.
  period_end timestamptz NOT NULL,
  -- When it is tried next; whoever moves this sends it.
  due_at timestamptz NOT NULL,
  -- Of this period so far.
  tries integer NOT NULL DEFAULT 0,
  -- Why the last try failed, a sentence for a person.
  problem text,
  sent_at timestamptz,
  created_at timestamptz NOT NULL,
  UNIQUE (workspace, member)
);
CREATE INDEX digests_due ON digests (due_at);
CREATE UNIQUE INDEX digests_of_workspace ON digests (workspace) WHERE member IS NULL;

-- Outgoing webhooks (workspaces/webhooks/): who gets what, and what is sent or was.
CREATE TABLE webhook_endpoints (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  url text NOT NULL,
  name text,
  -- Types of events.
  events text[] NOT NULL,
  -- As a query of figures has them: provider, product, currency, country.
  filters jsonb NOT NULL,
  secret_sealed bytea NOT NULL,
  -- Signs beside the new one until then.
  previous_secret_sealed bytea,
  previous_valid_until timestamptz,
  -- Calls that failed since the last that did not, by the pauses between them.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  -- Nothing is sent before.
  wait_until timestamptz,
  -- Why the last call failed, a sentence for a person.
  problem text,
  disabled_at timestamptz,
  disabled_by text CHECK (disabled_by IN ('member', 'failing', 'gone', 'too_many')),
  created_at timestamptz NOT NULL
);
CREATE INDEX webhook_endpoints_workspace
  ON webhook_endpoints (workspace, created_at DESC, id DESC);

CREATE TABLE webhook_deliveries (
  id text PRIMARY KEY,
  endpoint text NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
  -- `webhook-id`: the same for all endpoints and all tries.
  message text NOT NULL,
  type text NOT NULL,
  -- Deliveries with the same one (an account) are sent one after the other, by `seq`.
  lane text NOT NULL,
  seq bigint NOT NULL,
  -- What is signed and sent.
  body text NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  -- Not sent before.
  due_at timestamptz NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  first_try_at timestamptz,
  -- Of the last answer, and why it was not taken.
  status integer,
  problem text,
  delivered_at timestamptz,
  created_at timestamptz NOT NULL,
  UNIQUE (endpoint, message)
);
CREATE INDEX webhook_deliveries_listed
  ON webhook_deliveries (endpoint, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_pending
  ON webhook_deliveries (endpoint, seq) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_lanes
  ON webhook_deliveries (endpoint, lane, seq) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (created_at);

-- Chat programs that take Slack's incoming webhooks: one channel of a workspace.
CREATE TABLE chat_channels (
  id text PRIMARY KEY,
  workspace text NOT NULL UNIQUE REFERENCES workspaces (id),
  url_sealed bytea NOT NULL,
  -- All that is shown of the URL.
  host text NOT NULL,
  created_at timestamptz NOT NULL
);

-- What is watched, and who is told (workspaces/alerts/alerts.ts).
CREATE TABLE alerts (
  id text PRIMARY KEY,
  workspace text NOT NULL REFERENCES workspaces (id),
  -- As schemas/http/alerts.ts has them.
  rule jsonb NOT NULL,
  channels jsonb NOT NULL,
  quiet jsonb,
  paused boolean NOT NULL,
  -- Where the dashboard was when it was made: links begin with it.
  origin text NOT NULL,
  is_met boolean NOT NULL,
  -- What happened up to then has been judged.
  judged_to timestamptz NOT NULL,
  fired_at timestamptz,
  -- When it is looked at next; whoever moves this looks.
  due_at timestamptz NOT NULL,
  -- Why the last look failed, a sentence for a person.
  problem text,
  created_at timestamptz NOT NULL
);
CREATE INDEX alerts_due ON alerts (due_at) WHERE NOT paused;
CREATE INDEX alerts_by_workspace ON alerts (workspace, created_at, id);

CREATE TABLE alert_firings (
  id text PRIMARY KEY,
  alert text NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
  workspace text NOT NULL,
  -- The moment the value is of.
  at timestamptz NOT NULL,
  value double precision NOT NULL,
  sentence text NOT NULL,
  link text NOT NULL,
  ended_at timestamptz,
  created_at timestamptz NOT NULL
);
CREATE INDEX alert_firings_by_alert ON alert_firings (alert, created_at, id);
CREATE INDEX alert_firings_by_workspace ON alert_firings (workspace, created_at, id);

-- One row for each firing and channel; those that are sent together are one message.
CREATE TABLE alert_messages (
  id text PRIMARY KEY,
  firing text NOT NULL REFERENCES alert_firings (id) ON DELETE CASCADE,
  workspace text NOT NULL,
  -- 'chat', or 'email' and the member.
  channel text NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'sent', 'given_up')),
  -- When it is tried next; whoever moves this sends it.
  due_at timestamptz NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  problem text,
  -- The message it was tried in last.
  sent_in text,
  sent_at timestamptz
);
CREATE INDEX alert_messages_due ON alert_messages (due_at) WHERE state = 'waiting';
CREATE INDEX alert_messages_by_firing ON alert_messages (firing);
CREATE INDEX alert_messages_sent ON alert_messages (workspace, channel, sent_at);

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
