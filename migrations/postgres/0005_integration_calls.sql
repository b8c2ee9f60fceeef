-- Calls of each integration's webhook URL by what became of them: `taken`, or the code of the
-- refusal (backends/integration-calls.ts). For a person's eye; no figure depends on it.
CREATE TABLE integration_calls (
  integration text NOT NULL REFERENCES integrations (id),
  verdict text NOT NULL,
  calls bigint NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (integration, verdict)
);
