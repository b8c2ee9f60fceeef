-- Of providers that list nothing by themselves.
ALTER TABLE backfills
  -- What a person uploaded for them to be asked about.
  ADD COLUMN ids jsonb NOT NULL DEFAULT '[]',
  -- From then on all is listed, whatever was uploaded; null: from from_at.
  ADD COLUMN covers_from timestamptz;
