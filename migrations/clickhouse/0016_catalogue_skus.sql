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
