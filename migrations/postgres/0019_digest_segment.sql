-- The part of the figures that a digest is of; null: all.
ALTER TABLE digests ADD COLUMN segment text;
