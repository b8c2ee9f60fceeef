/**
 * The log port: an append-only, partitioned, durable record of events. Everything the service
 * knows can be made again from it.
 *
 * Contract, the same for every implementation (test/log/log.test.ts runs it):
 *
 * - `append` resolves when the records are durable: a `kill -9` right after loses none of them. It
 *   rejects when they may not be. AppendUncertain: some may be durable all the same, or become so
 *   within `kafkaLateMsMax`, so appending again may repeat. LogUnavailable: none is or will be.
 * - Records of one key go to one partition and are read in the order they were appended. Between
 *   partitions there is no order.
 * - `consume` gives each partition's records in offset order, in batches, one batch of a partition
 *   at a time; partitions run side by side. The group's offset moves after the handler resolves
 *   and what it left to be finished is, so a crash repeats the last batches and loses none. When
 *   either rejects, the handler is called again with the records from the group's offset on, after
 *   a pause that grows up to `retryPauseMsMax`; later records of that partition wait. Where no
 *   store is away the batch is halved until the one record is found that fails (`passOver`).
 * - Members of one group share the partitions; each partition has at most one member at a time,
 *   but a member that was stalled may finish a batch another has already repeated.
 * - `tail` gives what is appended from the call on (or from given offsets), to every caller,
 *   without a group and without moving any offset.
 * - Offsets grow by one within a partition and are never reused. Retention removes the oldest
 *   records; `earliest` says where a partition begins now.
 */
import type { Pace } from "../../runtime/pace.js";
import type { Topic } from "../../schemas/records/records.js";

export interface NewRecord {
  /** Decides the partition. */
  readonly key: string;
  readonly value: Buffer;
}

export interface LogRecord {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: string;
  readonly value: Buffer;
}

export interface Position {
  readonly partition: number;
  readonly offset: bigint;
}

export interface ConsumeOptions {
  readonly topic: Topic;
  /** Members with the same name share the work and the offsets. */
  readonly group: string;
  readonly batchRecordsMax: number;
  /**
   * The share of time a partition's batches may take, up to 1 (also when left out): after a batch
   * it rests accordingly, and its next batch grows meanwhile.
   */
  readonly shareMax?: number;
  /** Of all partitions together, instead of it. */
  readonly pace?: Pace;
  /**
   * How long records may gather where each request for them has its price, as on Kafka: the first
   * come at once, those after them at most so often; left out: `limits.kafkaLingerMs`.
   */
  readonly lingerMs?: number;
  /**
   * Called with 1 to `batchRecordsMax` records of one partition, in order, together no larger than
   * `limits.consumedBytesMax` if they are more than one. The next batch is given when this
   * resolves; the offset moves past this one when `finished` does, too. `Log.handled` moves when
   * `shown` does, which is not later than `finished`; left out: at once.
   */
  handle(records: readonly LogRecord[]): Promise<{
    readonly finished: Promise<void>;
    readonly shown?: Promise<void>;
  } | void>;
  /**
   * Called for a record that `handle` cannot handle by itself either, although no store is away
   * (stores/log/suspects.ts, stores/store-away.ts). When this resolves the offset moves past it,
   * else it is called again. Left out: such a record is given again and again, and all behind it
   * wait.
   */
  passOver?(record: LogRecord, error: unknown): Promise<void>;
}

export interface Subscription {
  /** No further batch begins; resolves when the running ones have ended. Safe to call twice. */
  close(): Promise<void>;
}

export interface TopicOptions {
  readonly partitions: number;
  /** Null: kept for ever. */
  readonly retentionMs: number | null;
  readonly retentionBytes: number | null;
  /**
   * Those that have to handle every record. The embedded log takes none away before they have, and
   * Kafka, which does, is reported: see docs/operating.md.
   */
  readonly groups?: readonly string[];
}

/** What a process does with the log, beside asking where topics end and groups stand. */
export interface LogUse {
  readonly reads: readonly Topic[];
  readonly appends: readonly Topic[];
  /** The groups it is a member of. */
  readonly consumes: readonly string[];
}

/** The log cannot take records now; the caller answers 503 and the sender tries again. */
export class LogUnavailable extends Error {
  override readonly name = "LogUnavailable";
}

/**
 * How long after that a record that was sent may still become readable: a leader waits for a
 * stalled replica for one and a half times `replica.lag.time.max.ms` (30 s), then goes on alone.
 */
export const kafkaLateMsMax = 45_000;

/** Some of it was sent: that is readable, or may still become so for a while (`kafkaLateMsMax`). */
export class AppendUncertain extends LogUnavailable {
  /** Resolves when all that was sent is readable; rejects when that stays unknown. */
  readonly stored: Promise<void>;

  constructor(message: string, { stored, ...options }: ErrorOptions & { stored: Promise<void> }) {
    super(message, options);
    this.stored = stored;
  }
}

/** The log cannot be asked now what lies in it or where it ends; the same may be asked again. */
export class LogUnreadable extends Error {
  override readonly name = "LogUnreadable";
}

/** Every question but `append` and `place` may reject with LogUnreadable. */
export interface Log {
  /**
   * Other processes may be members of the same groups: what a member saw a moment ago may be old
   * by the time it writes.
   */
  readonly shared: boolean;
  /** @throws LogUnavailable when the records may not be durable; see AppendUncertain. */
  append(topic: Topic, records: readonly NewRecord[]): Promise<Position[]>;
  /** @throws LogUnavailable while the last append failed, and another one would fail as well */
  checkAppends(topic: Topic): Promise<void>;
  consume(options: ConsumeOptions): Subscription;
  /**
   * `from`: the next offset wanted, by partition; a partition left out begins at its end. The
   * handler is not awaited for its own sake but backpressure holds: one call at a time.
   */
  tail(
    topic: Topic,
    handle: (record: LogRecord) => void | Promise<void>,
    from?: ReadonlyMap<number, bigint>,
  ): Subscription;
  /**
   * Up to `recordsMax` records from `offset` (inclusive) on, and fewer where more cannot be had at
   * once. None only where the partition ends: what cannot be had at all is LogUnreadable.
   */
  read(topic: Topic, partition: number, offset: bigint, recordsMax: number): Promise<LogRecord[]>;
  /** Where `append` puts records of this key. */
  partitionOf(topic: Topic, key: string): number;
  /** The offset the next record will get, by partition. */
  ends(topic: Topic): Promise<bigint[]>;
  /** The oldest offset still there, by partition. */
  earliest(topic: Topic): Promise<bigint[]>;
  /** The offset the group would go on from after a crash, by partition. */
  committed(topic: Topic, group: string): Promise<bigint[]>;
  /**
   * The offset after the last record whose handler has resolved and whose rows are shown, though
   * what was left to be finished may not be. Where that is not known to this process: the committed
   * one. By partition.
   */
  handled(topic: Topic, group: string): Promise<bigint[]>;
  /** Sets a group back (or ahead) while none of its members runs, for a replay. */
  seek(topic: Topic, group: string, offsets: ReadonlyMap<number, bigint>): Promise<void>;
  /** Gives a topic more partitions, at the end of the list; a restore into a narrower log. */
  widen(topic: Topic, partitions: number): Promise<void>;
  /**
   * What lies before `offset` is removed, and offsets the partition has not come to are left out:
   * as if retention had removed them. Interrupted, it is asked again. For a restore, while nothing
   * else appends.
   * @throws LogUnavailable
   */
  begin(topic: Topic, partition: number, offset: bigint): Promise<void>;
  /**
   * Puts records where another log had them: the first gets `offset`, where the partition ends,
   * each next one the next, in this partition whatever the keys. For a restore, too.
   * @throws LogUnavailable
   */
  place(
    topic: Topic,
    partition: number,
    offset: bigint,
    records: readonly NewRecord[],
  ): Promise<void>;
  close(): Promise<void>;
}
