-- Baseline: 4 had the checksum 449d610c867fb074c210bd030aba4b9364acd2bfe2e343da04ba9e77c06f81ad
-- The tables as version 0.1.0 had them, in the place of its migrations 1 to 4.
-- ${durable} stands for the settings that make an insert survive a crash on the
-- embedded engine.
-- Every statement can run twice: a crash between a statement and the record of its file repeats it.
-- deduplication_window: of so many inserts into a table the tokens are known, so that a batch that is
-- sent again is ignored (clickhouse/append.ts). A process sends at most 7 batches a second of a
-- table: enough for the 290 seconds a lost statement may run at four such processes, or 24 minutes
-- at one. An insert of 500 rows into ledger took 34 ms without and 36 with it.
-- Two clocks on every row: when it happened, and recorded_at = the receipt time of event_id.

CREATE TABLE IF NOT EXISTS raw_events
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    event_id String,
    provider LowCardinality(String),
    integration LowCardinality(String),
    form LowCardinality(String),
    native_id String,
    native_type LowCardinality(String),
    received_at DateTime64(3, 'UTC'),
    verdict LowCardinality(String),
    rates_edition UInt32,
    partition UInt16,
    offset UInt64,
    outcome LowCardinality(String) COMMENT 'facts, ignored, rejected',
    reason LowCardinality(String),
    facts UInt16,
    normalized_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (workspace, environment, event_id, partition, offset)
SETTINGS index_granularity = 512${durable};

-- One row per raw event that could not be booked; the newest revision says whether it is open.
CREATE TABLE IF NOT EXISTS rejects
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    event_id String,
    provider LowCardinality(String),
    native_type LowCardinality(String),
    received_at DateTime64(3, 'UTC'),
    step LowCardinality(String),
    reason LowCardinality(String),
    detail String,
    partition UInt16,
    offset UInt64,
    state LowCardinality(String) COMMENT 'open, replayed, resolved',
    revision UInt64 COMMENT 'ms since 1970 of the change of state'
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (workspace, environment, event_id)
SETTINGS index_granularity = 512${durable};

-- Every fact about money that is known, under each key it belongs to: 'payment:<id>' or
-- 'purchase:<id>'. A transaction and its ledger are a function of these rows: the audit works them
-- out again, and booking reads here what its state lacks (processors/book/known-books.ts). An event
-- is looked up here and in subscription_changes; primary keys lead from there to all else it caused.
CREATE TABLE IF NOT EXISTS money_facts
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    provider LowCardinality(String),
    key String,
    fact_id String,
    event_id String,
    received_at DateTime64(3, 'UTC'),
    fact String COMMENT 'Avro JSON of schemas/records Fact',
    INDEX by_event event_id TYPE bloom_filter(0.001) GRANULARITY 4
)
ENGINE = MergeTree
ORDER BY (workspace, environment, provider, key, fact_id)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 10000${durable};

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
    booked_at DateTime64(3, 'UTC') COMMENT 'when it was booked',
    -- One column to read instead of 17, in the order of api/transactions/listed-row.ts. Amounts as
    -- text, so that no setting decides how they are written. Of 6 million rows a page of 50 took
    -- 9.0 ms instead of 12.4; an insert of 30 rows takes 6.5 instead of 6.0.
    shown String MATERIALIZED toJSONString((
        version, provider, payment, external_id, toString(gross_amount), original_currency,
        toString(normalized_amount), base_currency, fx_rate, fx_date, toString(refunded_amount),
        toString(tax_amount), toString(fee_amount), customer_country, type, status, account
    )) COMMENT 'what a list shows of this version, as JSON',
    INDEX by_id id TYPE bloom_filter(0.001) GRANULARITY 4,
    INDEX by_account account TYPE bloom_filter(0.001) GRANULARITY 4
)
ENGINE = MergeTree
ORDER BY (workspace, environment, timestamp, id, recorded_at, fact_id, version)
-- Small blocks: a page of a rare filter reads a block of each column for each of its rows. With the
-- usual 64 kB such a page took 142 ms of processor time instead of 84, of 2 million rows.
SETTINGS index_granularity = 512, min_compress_block_size = 4096, non_replicated_deduplication_window = 10000${durable};

-- Additive movements of money in base currency; revenue is a sum over them. Sums are of 128 bits:
-- in 64 those of 9,300 amounts of the largest there is would overflow.
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
    booked_at DateTime64(3, 'UTC') COMMENT 'when it was booked',
    INDEX by_recorded recorded_at TYPE minmax GRANULARITY 1,
    PROJECTION by_day
    (
        SELECT workspace, environment, toDate(happened_at) AS day, provider, external_id, kind, currency, country,
               sum(toInt128(amount)), sum(toInt128(tax)), sum(toInt128(fee)), sum(sales)
        GROUP BY workspace, environment, day, provider, external_id, kind, currency, country
    ),
    PROJECTION by_month_and_sku
    (
        SELECT workspace, environment, toStartOfMonth(happened_at) AS month, provider, external_id, kind,
               sum(toInt128(amount)), sum(toInt128(tax)), sum(toInt128(fee)), sum(sales)
        GROUP BY workspace, environment, month, provider, external_id, kind
    ),
    PROJECTION by_time
    (
        SELECT workspace, environment, happened_at, provider, external_id, kind, currency, country, amount, tax, fee, sales
        ORDER BY (workspace, environment, happened_at)
    )
)
ENGINE = MergeTree
ORDER BY (workspace, environment, payment, entry)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 10000${durable};

-- Absolute states: from steps[1].at on, the subscription is worth these items a month.
CREATE TABLE IF NOT EXISTS subscription_changes
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    account String,
    provider LowCardinality(String),
    subscription String,
    change_id String,
    revision UInt32 COMMENT 'the greatest of a change_id counts; 1 except for churns that name no account',
    void UInt8 COMMENT 'this revision takes the change back',
    at DateTime64(3, 'UTC'),
    phase Enum8('expired' = -1, 'started' = 0, 'changed' = 1, 'ended' = 2) COMMENT 'at equal times the greater wins',
    event_id String,
    recorded_at DateTime64(3, 'UTC'),
    currency LowCardinality(String),
    country LowCardinality(String),
    steps Array(Tuple(at DateTime64(3, 'UTC'), items Array(Tuple(item String, external_id String, price String, mrr Decimal(38, 6))))),
    booked_at DateTime64(3, 'UTC') COMMENT 'when it was booked',
    -- So that those few are found without reading what all are worth.
    trial UInt8 MATERIALIZED notEmpty(steps) AND notEmpty(steps[1].2) AND steps[1].2[1].3 = 'trial' COMMENT 'its first step is a free trial',
    INDEX by_recorded recorded_at TYPE minmax GRANULARITY 1,
    INDEX by_event event_id TYPE bloom_filter(0.001) GRANULARITY 4,
    -- The accounts a subscription was ever reported under: the audit looks for those with several.
    PROJECTION by_subscription
    (
        SELECT workspace, environment, provider, subscription, account, count()
        GROUP BY workspace, environment, provider, subscription, account
    )
)
ENGINE = MergeTree
ORDER BY (workspace, environment, account, subscription, at, change_id, revision)
-- To look up an account a block of each stream of each column is read: small blocks, and texts in one
-- stream, made the changes of 2,000 accounts among a million cost 0.42 s instead of 0.64.
SETTINGS index_granularity = 256, min_compress_block_size = 4096, string_serialization_version = 'single_stream', non_replicated_deduplication_window = 10000${durable};

-- The two sides of form A subscriptions without an id; see schemas/records Unidentified.
CREATE TABLE IF NOT EXISTS unidentified_sides
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    pool String,
    at DateTime64(3, 'UTC'),
    fact_id String,
    side LowCardinality(String) COMMENT 'start, churn',
    provider LowCardinality(String),
    subscription String,
    account String,
    event_id String,
    recorded_at DateTime64(3, 'UTC'),
    native_type LowCardinality(String) COMMENT 'with the next two, what the list of rejects shows of a waiting churn',
    partition UInt16,
    offset UInt64
)
ENGINE = MergeTree
ORDER BY (workspace, environment, pool, at, fact_id)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 10000${durable};

-- Additive differences of MRR, each under the event that caused it: always equal to what
-- processors/book/account says should be recorded.
-- Sums are of months, then days of the last month, then rows of the last day: MRR of 8 million
-- movements took 65 ms of processor time over days alone and 5 over months; without currencies and
-- countries there are a fifteenth as many sums to read.
CREATE TABLE IF NOT EXISTS mrr_movements
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    account String,
    provider LowCardinality(String),
    subscription String,
    external_id String,
    currency LowCardinality(String) COMMENT 'original currency of the price',
    country LowCardinality(String),
    at DateTime64(3, 'UTC'),
    kind LowCardinality(String) COMMENT 'new, expansion, contraction, churn, reactivation, switch',
    vintage Date COMMENT 'first day of the month of the account''s new movement',
    mrr Decimal(38, 6),
    accounts Int32 COMMENT 'active accounts: 1 or -1 on one row of the movement, else 0',
    subscriptions Int32 COMMENT 'active subscriptions of this SKU: 1, -1 or 0',
    recorded_at DateTime64(3, 'UTC'),
    event_id String,
    correction UInt32 COMMENT 'how many rows the event had recorded of the same before: an earlier event came late',
    booked_at DateTime64(3, 'UTC') COMMENT 'when it was booked',
    plan_interval LowCardinality(String) DEFAULT 'unknown' COMMENT 'week, month, quarter, half_year, year, other; unknown of rows booked before',
    INDEX by_recorded recorded_at TYPE minmax GRANULARITY 1,
    PROJECTION by_day
    (
        SELECT workspace, environment, toDate(at) AS day, provider, external_id, kind, currency, country,
               sum(mrr), sum(accounts), sum(subscriptions)
        GROUP BY workspace, environment, day, provider, external_id, kind, currency, country
    ),
    PROJECTION by_month
    (
        SELECT workspace, environment, toStartOfMonth(at) AS month, provider, external_id, kind, currency, country,
               sum(mrr), sum(accounts), sum(subscriptions)
        GROUP BY workspace, environment, month, provider, external_id, kind, currency, country
    ),
    PROJECTION by_month_and_sku
    (
        SELECT workspace, environment, toStartOfMonth(at) AS month, provider, external_id, kind,
               sum(mrr), sum(accounts), sum(subscriptions)
        GROUP BY workspace, environment, month, provider, external_id, kind
    ),
    PROJECTION by_vintage
    (
        SELECT workspace, environment, vintage, toStartOfMonth(at) AS month, kind, sum(mrr), sum(accounts)
        GROUP BY workspace, environment, vintage, month, kind
    ),
    -- Who moved MRR in a month, and how many churned, are asked of single movements: they are read in
    -- the order of time, not all of them.
    PROJECTION by_moment
    (
        SELECT workspace, environment, at, account, vintage, provider, external_id, kind, currency, country,
               plan_interval, mrr, accounts, subscriptions, recorded_at
        ORDER BY (workspace, environment, at)
    )
)
ENGINE = MergeTree
ORDER BY (workspace, environment, account, at, subscription, external_id)
SETTINGS index_granularity = 256, string_serialization_version = 'single_stream', non_replicated_deduplication_window = 10000${durable};

-- Today's catalogue, copied from Postgres for the SQL views (docs/sql.md): one row for each SKU,
-- and one without a provider for all that was sold without a SKU, which has the base currency of
-- the workspace. Of the rows of one key the greatest revision counts.
CREATE TABLE IF NOT EXISTS catalogue_skus
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    provider LowCardinality(String),
    external_id String,
    product_id String,
    product_name String,
    slug String,
    category LowCardinality(String),
    base_currency LowCardinality(String),
    revision UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (workspace, environment, provider, external_id)
SETTINGS index_granularity = 512${durable};
