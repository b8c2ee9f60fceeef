-- ${durable} stands for the settings that make an insert survive a crash on the embedded engine.
-- Every statement can run twice: a crash between a statement and the record of its file repeats it.
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
