-- A workspace's own digests: one for its chat channel, one for its webhooks.
ALTER TABLE digests ADD COLUMN to_webhooks boolean NOT NULL DEFAULT false
  CHECK (NOT to_webhooks OR member IS NULL);
DROP INDEX digests_of_workspace;
CREATE UNIQUE INDEX digests_of_workspace ON digests (workspace, to_webhooks) WHERE member IS NULL;
