-- Every fact about money that is known, under each key it can be looked for by: 'payment:<id>' or
-- 'purchase:<id>'. A transaction and its ledger are a function of these rows.
CREATE TABLE IF NOT EXISTS money_facts
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    provider LowCardinality(String),
    key String,
    fact_id String,
    event_id String,
    received_at DateTime64(3, 'UTC'),
    fact String COMMENT 'Avro JSON of schemas/records Fact'
)
ENGINE = MergeTree
ORDER BY (workspace, environment, provider, key, fact_id)
SETTINGS index_granularity = 256${durable};

-- Every version of every transaction. Of the rows of one id the greatest
-- (recorded_at, fact_id, version) is what is known; with recorded_at <= T, what was known at T.
CREATE TABLE IF NOT EXISTS transactions
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    timestamp DateTime64(3, 'UTC'),
    id String,
    recorded_at DateTime64(3, 'UTC'),
    fact_id String COMMENT 'the newest fact this version knows, by receipt',
    version UInt32 COMMENT 'how many facts this version knows',
    event_id String,
    provider LowCardinality(String),
    payment String,
    account String,
    external_id String,
    gross_amount Int64,
    original_currency LowCardinality(String),
    normalized_amount Int64,
    base_currency LowCardinality(String),
    fx_rate String,
    fx_date LowCardinality(String),
    fx_source LowCardinality(String),
    refunded_amount Int64,
    tax_amount Nullable(Int64),
    fee_amount Nullable(Int64),
    customer_country LowCardinality(String),
    type LowCardinality(String),
    status LowCardinality(String),
    backfill UInt8,
    INDEX by_id id TYPE bloom_filter(0.001) GRANULARITY 4,
    INDEX by_event event_id TYPE bloom_filter(0.001) GRANULARITY 4
)
ENGINE = MergeTree
ORDER BY (workspace, environment, timestamp, id, recorded_at, fact_id, version)
SETTINGS index_granularity = 512${durable};

-- Additive movements of money in base currency; revenue is a sum over them.
CREATE TABLE IF NOT EXISTS ledger
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    payment String COMMENT 'provider and payment: all entries of one payment lie together',
    entry String COMMENT 'what moved: sale, refund:<id>, dispute:<id>, dispute_won:<id>',
    kind LowCardinality(String) COMMENT 'sale, refund, dispute, dispute_won',
    provider LowCardinality(String),
    external_id String,
    currency LowCardinality(String) COMMENT 'original',
    country LowCardinality(String),
    happened_at DateTime64(3, 'UTC'),
    recorded_at DateTime64(3, 'UTC'),
    event_id String,
    fact_id String,
    original_amount Int64 COMMENT 'minor units of currency, signed',
    amount Int64 COMMENT 'minor units of base currency, signed',
    tax Int64 COMMENT 'inside amount, of sales',
    fee Int64 COMMENT 'kept by the provider, of sales',
    sales Int32,
    INDEX by_recorded recorded_at TYPE minmax GRANULARITY 1,
    PROJECTION by_day
    (
        SELECT workspace, environment, toDate(happened_at) AS day, provider, external_id, kind, currency, country,
               sum(amount), sum(tax), sum(fee), sum(sales)
        GROUP BY workspace, environment, day, provider, external_id, kind, currency, country
    ),
    PROJECTION by_time
    (
        SELECT workspace, environment, happened_at, provider, external_id, kind, currency, country, amount, tax, fee, sales
        ORDER BY (workspace, environment, happened_at)
    )
)
ENGINE = MergeTree
ORDER BY (workspace, environment, payment, entry)
SETTINGS index_granularity = 256${durable};
