-- The books, where the service runs on servers: what booking knows, how far it is, and what it has
-- yet to publish and to write to ClickHouse (state/postgres-state.ts). Embedded, they lie in the log.

-- How far each partition of the facts topic is booked, and by whom.
CREATE TABLE book_partitions (
  partition integer PRIMARY KEY,
  -- Grows each time the partition is taken: a commit under an earlier one changes nothing.
  epoch bigint NOT NULL,
  -- Of the next fact to be booked.
  next_offset bigint NOT NULL,
  -- Of the last commit.
  sequence bigint NOT NULL,
  -- Bytes of its values in book_outbox.
  queued_bytes bigint NOT NULL
  -- Every commit writes one of these few rows. Most of each page stays free for the versions that
  -- follow: no index is written again, and old versions are cleared away in passing.
) WITH (fillfactor = 10);

-- Payments, accounts and pools by key. An order of bytes: it does not change with the system's
-- collations, and is that of the embedded state.
CREATE TABLE book_values (
  partition integer NOT NULL,
  key text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (partition, key)
  -- Most values are written several times. A tenth of each page stays free: an update then finds
  -- room on its page, and no index is written again (75,000 updates of 120,000 rows: none; on full
  -- pages one in seven).
) WITH (fillfactor = 90);

-- What commits made to be published or written, until it is: a queue for each lane and partition.
CREATE TABLE book_outbox (
  lane text NOT NULL CHECK (lane IN ('messages', 'shown', 'rest')),
  partition integer NOT NULL,
  -- Of the commit.
  sequence bigint NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (lane, partition, sequence)
  -- Rows are removed soon, and the next ones are looked for where those were. So they are vacuumed
  -- by their number: a share means little for a table that is often empty. Its pages are kept for
  -- reuse, since giving them back would lock out commits.
) WITH (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  vacuum_truncate = false,
  toast.autovacuum_vacuum_scale_factor = 0,
  toast.autovacuum_vacuum_threshold = 5000,
  toast.vacuum_truncate = false
);
-- Not compressed: it lives for moments.
ALTER TABLE book_outbox ALTER COLUMN value SET STORAGE EXTERNAL;

-- Batches that are sealed and not removed. What a batch has of a partition is what the partition has
-- in that lane up to a sequence, so no row of the outbox is written again, and a partition is in one
-- batch of a lane at most.
CREATE TABLE book_seals (
  lane text NOT NULL,
  partition integer NOT NULL,
  token text NOT NULL,
  last_sequence bigint NOT NULL,
  PRIMARY KEY (lane, partition)
) WITH (fillfactor = 10);
