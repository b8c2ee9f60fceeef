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
