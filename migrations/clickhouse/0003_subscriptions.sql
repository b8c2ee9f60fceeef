-- Absolute states: from steps[1].at on, the subscription is worth these items a month.
CREATE TABLE IF NOT EXISTS subscription_changes
(
    workspace LowCardinality(String),
    environment LowCardinality(String),
    account String,
    provider LowCardinality(String),
    subscription String,
    change_id String,
    revision UInt32 COMMENT 'the greatest of a change_id counts; 1 but for anonymous churns',
    void UInt8 COMMENT 'this revision takes the change back',
    at DateTime64(3, 'UTC'),
    phase Enum8('expired' = -1, 'started' = 0, 'changed' = 1, 'ended' = 2) COMMENT 'at equal times the greater wins',
    event_id String,
    recorded_at DateTime64(3, 'UTC'),
    currency LowCardinality(String),
    country LowCardinality(String),
    steps Array(Tuple(at DateTime64(3, 'UTC'), items Array(Tuple(item String, external_id String, price String, mrr Decimal(38, 6))))),
    INDEX by_recorded recorded_at TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (workspace, environment, account, subscription, at, change_id, revision)
SETTINGS index_granularity = 256${durable};

-- The two sides of form A subscriptions without an id; see schemas/records Anonymous.
CREATE TABLE IF NOT EXISTS anonymous_sides
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
    recorded_at DateTime64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY (workspace, environment, pool, at, fact_id)
SETTINGS index_granularity = 256${durable};

-- Additive differences of MRR. Always equal to what schemas/movements.ts says should be recorded.
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
    kind LowCardinality(String) COMMENT 'new, expansion, contraction, churn, reactivation',
    vintage Date COMMENT 'first day of the month of the account''s new movement',
    mrr Decimal(38, 6),
    accounts Int32 COMMENT 'active accounts: 1 or -1 on one row of the movement, else 0',
    subscriptions Int32 COMMENT 'active subscriptions of this SKU: 1, -1 or 0',
    recorded_at DateTime64(3, 'UTC'),
    event_id String,
    INDEX by_event event_id TYPE bloom_filter(0.001) GRANULARITY 4,
    INDEX by_recorded recorded_at TYPE minmax GRANULARITY 1,
    PROJECTION by_day
    (
        SELECT workspace, environment, toDate(at) AS day, provider, external_id, kind, currency, country,
               sum(mrr), sum(accounts), sum(subscriptions)
        GROUP BY workspace, environment, day, provider, external_id, kind, currency, country
    ),
    PROJECTION by_vintage
    (
        SELECT workspace, environment, vintage, toStartOfMonth(at) AS month, kind, sum(mrr), sum(accounts)
        GROUP BY workspace, environment, vintage, month, kind
    ),
    PROJECTION by_time
    (
        SELECT workspace, environment, at, vintage, provider, external_id, kind, currency, country, mrr, accounts, subscriptions
        ORDER BY (workspace, environment, at)
    )
)
ENGINE = MergeTree
ORDER BY (workspace, environment, account, at, subscription, external_id)
SETTINGS index_granularity = 256${durable};
