-- Sums of money in 128 bits: in 64 those of 9,300 amounts of the largest there is come out negative,
-- and in a currency of small units, as Iran's, no amount of real sales is far enough below it.
ALTER TABLE ledger ADD PROJECTION IF NOT EXISTS by_day_wide
(
    SELECT workspace, environment, toDate(happened_at) AS day, provider, external_id, kind, currency, country,
           sum(toInt128(amount)), sum(toInt128(tax)), sum(toInt128(fee)), sum(sales)
    GROUP BY workspace, environment, day, provider, external_id, kind, currency, country
);
ALTER TABLE ledger MATERIALIZE PROJECTION by_day_wide;
ALTER TABLE ledger DROP PROJECTION IF EXISTS by_day;
ALTER TABLE ledger ADD PROJECTION IF NOT EXISTS by_month_and_sku_wide
(
    SELECT workspace, environment, toStartOfMonth(happened_at) AS month, provider, external_id,
           sum(toInt128(amount)), sum(sales)
    GROUP BY workspace, environment, month, provider, external_id
);
ALTER TABLE ledger MATERIALIZE PROJECTION by_month_and_sku_wide;
ALTER TABLE ledger DROP PROJECTION IF EXISTS by_month_and_sku;
