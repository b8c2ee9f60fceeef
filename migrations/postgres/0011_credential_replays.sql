-- Where credentials were entered: what waits for that provider's API is replayed when every process asks with
-- them (backends/credential-replays.ts).
CREATE TABLE credential_replays (
  workspace text NOT NULL REFERENCES workspaces (id),
  provider text NOT NULL,
  -- Another one each time: what is entered while a replay goes on is not cleared by its end.
  note text NOT NULL,
  -- When a process that replays saw it first, so after the credentials could be read.
  seen_at timestamptz,
  PRIMARY KEY (workspace, provider)
);
