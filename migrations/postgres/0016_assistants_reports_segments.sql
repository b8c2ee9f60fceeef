-- Programs that may ask members to be connected over /mcp (workspaces/assistants/). Anybody may
-- register one.
CREATE TABLE oauth_clients (
  id text PRIMARY KEY,
  -- As it calls itself, made plain text.
  name text NOT NULL,
  redirect_uris jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  used_at timestamptz NOT NULL
);
CREATE INDEX oauth_clients_used ON oauth_clients (used_at);

-- A program that a member has connected. It goes with the membership.
CREATE TABLE assistants (
  id text PRIMARY KEY,
  client text NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  workspace text NOT NULL,
  member text NOT NULL,
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  may_write boolean NOT NULL,
  -- Of the half that its code and all its refresh tokens have in common: one that has it and is
  -- not the current one was used before.
  family_hash bytea NOT NULL UNIQUE,
  -- Until the code is redeemed.
  code_hash bytea,
  code_challenge text,
  redirect_uri text,
  refresh_hash bytea,
  access_hash bytea UNIQUE,
  access_until timestamptz,
  -- The access token before a refresh counts a moment longer: calls are under way with it.
  previous_hash bytea UNIQUE,
  previous_until timestamptz,
  -- Of the code, and later of the refresh token.
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  FOREIGN KEY (workspace, member) REFERENCES memberships (workspace, member) ON DELETE CASCADE
);
CREATE INDEX assistants_client ON assistants (client);
CREATE INDEX assistants_member ON assistants (member, created_at DESC, id DESC);
CREATE INDEX assistants_workspace ON assistants (workspace, member);
CREATE INDEX assistants_expires ON assistants (expires_at);

-- Stores' reports of a month: sums, never payments (workspaces/history/reports.ts).
CREATE TABLE store_reports (
  integration text NOT NULL REFERENCES integrations (id),
  kind text NOT NULL CHECK (kind IN ('sales', 'finance', 'earnings', 'estimated_sales')),
  -- YYYY-MM
  month text NOT NULL,
  -- What it covers; the end is exclusive.
  from_at timestamptz NOT NULL,
  to_at timestamptz NOT NULL,
  lines integer NOT NULL,
  -- [{product, currency, paid, refunded}] in minor units, as text.
  sums jsonb NOT NULL,
  -- [{currency, amount}], the same.
  proceeds jsonb NOT NULL,
  uploaded_at timestamptz NOT NULL,
  source text NOT NULL DEFAULT 'file' CHECK (source IN ('file', 'api')),
  PRIMARY KEY (integration, kind, month)
);

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

-- A workspace's own digests: one for its chat channel, one for its webhooks.
ALTER TABLE digests
  -- The part of the figures that a digest is of; null: all.
  ADD COLUMN segment text,
  ADD COLUMN to_webhooks boolean NOT NULL DEFAULT false CHECK (NOT to_webhooks OR member IS NULL);
DROP INDEX digests_of_workspace;
CREATE UNIQUE INDEX digests_of_workspace ON digests (workspace, to_webhooks) WHERE member IS NULL;

-- When a store's reports are fetched (workspaces/history/report-fetches.ts).
CREATE TABLE report_fetches (
  integration text PRIMARY KEY REFERENCES integrations (id),
  state text NOT NULL CHECK (state IN ('waiting', 'done', 'failed')),
  due_at timestamptz NOT NULL,
  -- Why it waits or failed.
  problem text,
  -- The last that ended, and how many reports it kept.
  fetched_at timestamptz,
  kept integer NOT NULL DEFAULT 0
);
CREATE INDEX report_fetches_due ON report_fetches (due_at) WHERE state = 'waiting';
