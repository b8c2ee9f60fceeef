-- How far a backfill has come in the list it reads, for an estimate of the time that is left.
ALTER TABLE backfills
  -- When its first page was asked for.
  ADD COLUMN list_since timestamptz,
  -- {from, to} in ms since 1970, of the pages read so far; null where the list is in no such order.
  ADD COLUMN through jsonb;
