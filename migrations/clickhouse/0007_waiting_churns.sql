-- A churn that waits is listed as a reject, also when another that came later took its partner: then
-- this says what the list shows and where its raw event lies.
ALTER TABLE anonymous_sides
    ADD COLUMN IF NOT EXISTS native_type LowCardinality(String),
    ADD COLUMN IF NOT EXISTS partition UInt16,
    ADD COLUMN IF NOT EXISTS offset UInt64;
