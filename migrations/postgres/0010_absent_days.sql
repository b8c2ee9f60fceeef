-- Days of which the wide list was asked for and there is none: beside them an older list goes on
-- counting, while a day nobody asked for may have reported another rate (schemas/rates.ts).
ALTER TABLE rate_editions ADD COLUMN absent_days date[] NOT NULL DEFAULT '{}';
