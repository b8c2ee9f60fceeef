-- A provider's history may come as a file that a person uploads (workspaces/export-lines.ts).
ALTER TABLE backfills
  ADD COLUMN source text NOT NULL DEFAULT 'api' CHECK (source IN ('api', 'export')),
  -- When the file was written; null: what is listed reaches to created_at.
  ADD COLUMN covers_to timestamptz;

-- Lines of such files until they are booked and compared; in the order in which they are read.
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
