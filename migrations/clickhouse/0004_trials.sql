-- Which changes begin a free trial, so that those few are found without reading what all are worth.
-- Rows booked before know none until they are replayed.
ALTER TABLE subscription_changes
    ADD COLUMN IF NOT EXISTS trial UInt8 MATERIALIZED notEmpty(steps) AND notEmpty(steps[1].2) AND steps[1].2[1].3 = 'trial'
    COMMENT 'its first step is a free trial';
