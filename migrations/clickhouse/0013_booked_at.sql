-- When a row came to its table, for whoever asks where the seconds went: reported by each statement that
-- writes rows. Not by a DEFAULT, which of parts that are there already is worked out by each read.
-- 0: it came before this column did.
ALTER TABLE transactions ADD COLUMN IF NOT EXISTS booked_at DateTime64(3, 'UTC');
ALTER TABLE ledger ADD COLUMN IF NOT EXISTS booked_at DateTime64(3, 'UTC');
ALTER TABLE subscription_changes ADD COLUMN IF NOT EXISTS booked_at DateTime64(3, 'UTC');
ALTER TABLE mrr_movements ADD COLUMN IF NOT EXISTS booked_at DateTime64(3, 'UTC');
