/**
 * The state in a Postgres database that several processes share (migrations/postgres). A
 * partition's epoch says who owns it. What must not happen while another process takes a partition
 * locks the partition's row; several rows are always locked in the order of partitions.
 */
import { randomUUID } from "node:crypto";
import type { Postgres } from "../postgres/postgres.js";
import {
  assertFits,
  bytesOf,
  queuedIn,
  LaneTurns,
  type Commit,
  Fenced,
  type RowLane,
  type OwnedPartition,
  type Queued,
  type SealedBatch,
  sealedEntriesMax,
  type State,
} from "./state.js";
import { QueuedBytes } from "./queued-bytes.js";

/** The state of a partition as it is taken. */
interface Taken {
  readonly epoch: bigint;
  readonly next_offset: bigint;
  readonly sequence: bigint;
}

interface Committed {
  readonly sequence: bigint;
  /** Of the published messages. */
  readonly removed_bytes: bigint;
}

interface Sealed {
  readonly token: string;
  readonly is_again: boolean;
}

interface Removed {
  readonly partition: number;
  readonly epoch: bigint;
  readonly bytes: bigint;
}

type Entry = readonly [key: string, value: Buffer];

export class PostgresState implements State {
  /** By taken partition; another process may have taken it since. */
  readonly #epochs = new Map<number, bigint>();
  readonly #turns = new LaneTurns();
  readonly #queuedBytes = new QueuedBytes(() => this.#askQueuedBytes());

  /** @param postgres with its tables; not closed by this */
  constructor(private readonly postgres: Postgres) {}

  async take(partition: number): Promise<OwnedPartition> {
    const [taken] = await this.postgres.query<Taken>(takeSql, [partition]);
    if (taken === undefined) throw new Error(`partition ${partition} was not taken`);
    const { epoch } = taken;
    // Of two takes at once the later may be answered first.
    if (epoch > (this.#epochs.get(partition) ?? 0n)) this.#epochs.set(partition, epoch);
    this.#queuedBytes.forget();
    let last = taken.sequence;
    return {
      partition,
      offset: taken.next_offset,
      sequence: taken.sequence,
      unpublished: () => this.#unpublished(partition, last),
      isHeld: () => this.#isHeld(partition, epoch),
      read: (keys) => this.#read(partition, keys),
      commit: async (commit) => {
        last = await this.#commit(partition, epoch, last, commit);
        return last;
      },
    };
  }

  seal(lane: RowLane, bytesMax: number): Promise<SealedBatch | null> {
    return this.#turns.take(lane, async () => {
      for (;;) {
        const sealed = await this.#sealed(lane, bytesMax);
        if (sealed === undefined) return null;
        const { token, is_again: isAgain } = sealed;
        // Read separately: while what locks partitions is answered, nobody can take them.
        const entries = await this.#entries(lane, token);
        // Another owner of a part of the batch may have removed it since.
        if (entries.length > 0) return { lane, token, entries, isAgain };
      }
    });
  }

  remove({ lane, token }: Pick<SealedBatch, "lane" | "token">): Promise<void> {
    return this.#turns.take(lane, async () => {
      await this.#queuedBytes.during(async () => {
        const removed = await this.postgres.query<Removed>(removeSql, [lane, token]);
        // Entries of other owners are not counted here.
        const own = removed.filter((one) => this.#epochs.get(one.partition) === one.epoch);
        const removedBytes = own.reduce((sum, { bytes }) => sum + Number(bytes), 0);
        return { queuedBytes: 0, removedBytes };
      });
    });
  }

  queuedBytes(): Promise<number> {
    return this.#queuedBytes.now();
  }

  async *values(partition: number): AsyncGenerator<Entry> {
    for (let after = ""; ;) {
      const page = await this.postgres.query<{ key: string; value: Buffer }>(pageSql, [
        partition,
        after,
        pageEntriesMax,
        pageBytesMax,
      ]);
      for (const { key, value } of page) yield [key, value];
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.key;
    }
  }

  async clear(): Promise<void> {
    this.#epochs.clear();
    this.#queuedBytes.forget();
    await this.postgres.transaction(
      async (sql) => {
        // Every other transaction asks for this table first, so none waits for this one half done.
        await sql.query("LOCK TABLE book_partitions");
        await sql.query(
          "UPDATE book_partitions SET epoch = epoch + 1, next_offset = 0, queued_bytes = 0",
        );
        await sql.query("TRUNCATE book_seals, book_outbox, book_values");
      },
      { isUnhurried: true },
    );
  }

  /** Whoever opened the database closes it. */
  async close(): Promise<void> {}

  #unpublished(partition: number, last: bigint): Promise<Queued[]> {
    return this.postgres.query<Queued>(
      `SELECT partition, sequence, value FROM book_outbox
       WHERE lane = 'messages' AND partition = $1 AND sequence <= $2 ORDER BY sequence`,
      [partition, last],
    );
  }

  async #isHeld(partition: number, epoch: bigint): Promise<boolean> {
    const held = await this.postgres.query(
      "SELECT 1 FROM book_partitions WHERE partition = $1 AND epoch = $2",
      [partition, epoch],
    );
    return held.length > 0;
  }

  async #read(partition: number, keys: readonly string[]): Promise<Map<string, Buffer>> {
    const rows = await this.postgres.query<{ key: string; value: Buffer }>(
      "SELECT key, value FROM book_values WHERE partition = $1 AND key = ANY($2::text[])",
      [partition, [...keys]],
    );
    return new Map(rows.map(({ key, value }) => [key, value]));
  }

  /** @param last the sequence that its owner knows of */
  async #commit(partition: number, epoch: bigint, last: bigint, commit: Commit): Promise<bigint> {
    assertFits(commit, last);
    const values = [...commit.values];
    const queued = queuedIn(commit);
    const { starts, lengths, bytes } = joined([...values, ...queued]);
    const queuedBytes = bytesOf(queued);
    const { sequence } = await this.#queuedBytes.during(async () => {
      const [committed] = await this.postgres.query<Committed>(commitSql, [
        partition,
        epoch,
        last,
        commit.offset,
        queuedBytes,
        bytes,
        values.map(([key]) => key),
        starts.slice(0, values.length),
        lengths.slice(0, values.length),
        queued.map(([lane]) => lane),
        starts.slice(values.length),
        lengths.slice(values.length),
        commit.published,
      ]);
      if (committed === undefined) throw new Fenced(partition);
      return { ...committed, queuedBytes, removedBytes: Number(committed.removed_bytes) };
    });
    return sequence;
  }

  async #sealed(lane: RowLane, bytesMax: number): Promise<Sealed | undefined> {
    const bounds = [bytesMax, sealedEntriesMax];
    const asked = [...this.#held(), lane, randomUUID(), ...bounds];
    const [sealed] = await this.postgres.query<Sealed>(sealSql, asked);
    return sealed;
  }

  #entries(lane: RowLane, token: string): Promise<Queued[]> {
    return this.postgres.query<Queued>(
      `SELECT partition, sequence, value FROM book_seals JOIN book_outbox USING (lane, partition)
       WHERE lane = $1 AND token = $2 AND sequence <= last_sequence
       ORDER BY partition, sequence`,
      [lane, token],
    );
  }

  async #askQueuedBytes(): Promise<number> {
    const [row] = await this.postgres.query<{ bytes: bigint }>(
      `SELECT coalesce(sum(queued_bytes), 0)::int8 AS bytes
       FROM book_partitions JOIN ${held} USING (partition, epoch)`,
      this.#held(),
    );
    return Number(row?.bytes ?? 0n);
  }

  #held(): [partitions: number[], epochs: bigint[]] {
    return [[...this.#epochs.keys()], [...this.#epochs.values()]];
  }
}

/** Waits for a commit or a sealing of the present owner. */
const takeSql = `
  INSERT INTO book_partitions (partition, epoch, next_offset, sequence, queued_bytes)
  VALUES ($1, 1, 0, 0, 0)
  ON CONFLICT (partition) DO UPDATE SET epoch = book_partitions.epoch + 1
  RETURNING epoch, next_offset, sequence`;

/**
 * One statement, so one transaction and one round trip. It checks the sequence, too, so that a
 * commit whose answer was lost is not repeated. It sees messages as they were when the statement
 * began, which is enough: only a commit removes some, and after another commit the sequence
 * differs. The partition comes first, because clearing locks it first.
 */
const commitSql = `
  WITH place AS (
    UPDATE book_partitions
    SET next_offset = $4, sequence = sequence + 1,
        queued_bytes = queued_bytes + $5 - (
          SELECT coalesce(sum(octet_length(value)), 0) FROM book_outbox
          WHERE lane = 'messages' AND partition = $1 AND sequence <= $13
        )
    WHERE partition = $1 AND epoch = $2 AND sequence = $3
    RETURNING partition, sequence
  ), changed AS (
    INSERT INTO book_values (partition, key, value)
    SELECT place.partition, key, substring($6::bytea FROM start FOR length)
    FROM place, unnest($7::text[], $8::int4[], $9::int4[]) AS given (key, start, length)
    ON CONFLICT (partition, key) DO UPDATE SET value = excluded.value
  ), queued AS (
    INSERT INTO book_outbox (lane, partition, sequence, value)
    SELECT lane, place.partition, place.sequence, substring($6::bytea FROM start FOR length)
    FROM place, unnest($10::text[], $11::int4[], $12::int4[]) AS given (lane, start, length)
  ), published AS (
    DELETE FROM book_outbox USING place
    WHERE lane = 'messages' AND book_outbox.partition = place.partition
      AND book_outbox.sequence <= $13
    RETURNING octet_length(value) AS bytes
  )
  SELECT sequence, (SELECT coalesce(sum(bytes), 0)::int8 FROM published) AS removed_bytes
  FROM place`;

/**
 * All values in one buffer, and where each begins, counted from 1. One value goes to the server as
 * it is; many would go as the text of an array, which Postgres reads sixteen times as slowly (5 MB:
 * 790 ms and 50).
 */
function joined(entries: readonly Entry[]) {
  const values = entries.map(([, value]) => value);
  const lengths = values.map(({ length }) => length);
  let next = 1;
  const starts = lengths.map((length) => (next += length) - length);
  return { starts, lengths, bytes: Buffer.concat(values) };
}

/** The partitions taken here, with their epochs. */
const held = "unnest($1::int4[], $2::int8[]) AS held (partition, epoch)";

/**
 * The token of any batch that has entries of the held partitions, else of a new one. Partitions
 * take turns, so that none waits behind another's long queue. Where nothing is queued, nothing is
 * locked or written. Nobody can take a partition between the check of its owner and the sealing.
 * All else is seen as it was when the statement began, which is enough: nobody else seals entries
 * of a held partition. A batch that was removed meanwhile has no entries.
 */
const sealSql = `
  WITH owned AS (
    SELECT partition FROM book_partitions JOIN ${held} USING (partition, epoch), LATERAL (
      SELECT FROM book_outbox
      WHERE lane = $3 AND book_outbox.partition = book_partitions.partition LIMIT 1
    ) AS queued
    ORDER BY partition FOR SHARE OF book_partitions
  ), sealed AS (
    SELECT token FROM book_seals
    WHERE lane = $3 AND partition IN (SELECT partition FROM owned)
    ORDER BY partition LIMIT 1
  ), queued AS (
    SELECT owned.partition, first.sequence, first.bytes, first.place
    FROM owned, LATERAL (
      SELECT sequence, octet_length(value) AS bytes, row_number() OVER (ORDER BY sequence) AS place
      FROM book_outbox WHERE lane = $3 AND partition = owned.partition
      ORDER BY sequence LIMIT $6
    ) AS first
    WHERE NOT EXISTS (SELECT FROM sealed)
  ), ordered AS (
    SELECT partition, sequence, row_number() OVER turns AS turn, sum(bytes) OVER turns AS bytes
    FROM queued WINDOW turns AS (ORDER BY place, partition)
  ), made AS (
    INSERT INTO book_seals (lane, partition, token, last_sequence)
    SELECT $3, partition, $4, max(sequence) FROM ordered
    WHERE turn <= $6 AND (turn = 1 OR bytes <= $5)
    GROUP BY partition
    RETURNING token
  )
  (SELECT token, false AS is_again FROM made LIMIT 1)
  UNION ALL
  SELECT token, true FROM sealed`;

/** Of two removals of a batch at once, the second waits for the first and finds nothing. */
const removeSql = `
  WITH locked AS (
    SELECT partition FROM book_partitions
    WHERE partition IN (SELECT partition FROM book_seals WHERE lane = $1 AND token = $2)
    ORDER BY partition FOR NO KEY UPDATE
  ), removed AS (
    DELETE FROM book_seals USING locked
    WHERE lane = $1 AND token = $2 AND book_seals.partition = locked.partition
    RETURNING book_seals.partition, last_sequence
  ), gone AS (
    DELETE FROM book_outbox USING removed
    WHERE lane = $1 AND book_outbox.partition = removed.partition AND sequence <= last_sequence
    RETURNING removed.partition, octet_length(value) AS bytes
  ), freed AS (
    SELECT partition, sum(bytes) AS bytes FROM gone GROUP BY partition
  )
  UPDATE book_partitions SET queued_bytes = queued_bytes - freed.bytes
  FROM freed WHERE book_partitions.partition = freed.partition
  RETURNING book_partitions.partition, epoch, freed.bytes`;

/** Up to the value that exceeds the bytes allowed. */
const pageSql = `
  WITH page AS (
    SELECT key, value FROM book_values WHERE partition = $1 AND key > $2 ORDER BY key LIMIT $3
  ), measured AS (
    SELECT key, value, sum(octet_length(value)) OVER (ORDER BY key) - octet_length(value) AS before
    FROM page
  )
  SELECT key, value FROM measured WHERE before < $4 ORDER BY key`;

const pageEntriesMax = 1_000;
const pageBytesMax = 4 * 1024 ** 2;
