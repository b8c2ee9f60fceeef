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
