-- A list shows the account of a payment and is filtered by it: few rows of a table have it, so it
-- is looked up as ids are.
ALTER TABLE transactions
    MODIFY COLUMN shown String MATERIALIZED toJSONString((
        version, provider, payment, external_id, toString(gross_amount), original_currency,
        toString(normalized_amount), base_currency, fx_rate, fx_date, toString(refunded_amount),
        toString(tax_amount), toString(fee_amount), customer_country, type, status, account
    )) COMMENT 'what a list shows of this version, as JSON';
ALTER TABLE transactions MATERIALIZE COLUMN shown;
ALTER TABLE transactions
    ADD INDEX IF NOT EXISTS by_account account TYPE bloom_filter(0.001) GRANULARITY 4;
ALTER TABLE transactions MATERIALIZE INDEX by_account;
