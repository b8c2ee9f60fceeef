-- How often the plan of a movement is billed (schemas/money/plan-intervals.ts). Rows booked before
-- know none. Changes have it in the text of a price.
ALTER TABLE mrr_movements
    ADD COLUMN IF NOT EXISTS plan_interval LowCardinality(String) DEFAULT 'unknown'
    COMMENT 'week, month, quarter, half_year, year, other; unknown of rows booked before';
