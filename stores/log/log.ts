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
import { type Topic, topics } from "../../schemas/records/records.js";

export interface NewRecord {
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
   * The share of time a partition's batches may take, up to 1 (the default): after a batch it rests
   * accordingly, and its next batch grows meanwhile.
   */
  readonly shareMax?: number;
  /** A pace for all partitions together, instead of `shareMax`. */
  readonly pace?: Pace;
  /**
   * How long records may gather where each request has its price, as on Kafka: the first come at
   * once, later ones at most so often; default: `limits.kafkaLingerMs`.
   */
  readonly lingerMs?: number;
  /**
   * Called with 1 to `batchRecordsMax` records of one partition, in order, together no larger than
   * `limits.consumedBytesMax` if they are more than one. The next batch is given when this
   * resolves; the offset moves past this one when `finished` does, too. `Log.handled` moves when
   * `shown` does, at the latest with `finished`; left out: at once.
   */
  handle(records: readonly LogRecord[]): Promise<{
    readonly finished: Promise<void>;
    readonly shown?: Promise<void>;
  } | void>;
  /**
   * Called for a record that `handle` cannot handle even alone, although all stores are available
   * (stores/log/partition-consumer.ts, stores/store-away.ts). When this resolves the offset moves
   * past it, else it is called again. Left out: such a record is delivered again and again, and all
   * behind it wait.
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
   * The groups that have to handle every record. The embedded log removes none before that; Kafka
   * does, which is reported: see docs/operating.md.
   */
  readonly groups?: readonly string[];
}

/** What a process does with the log, beside asking where topics end and groups stand. */
export interface LogUse {
  readonly reads: readonly Topic[];
  readonly appends: readonly Topic[];
  readonly consumes: readonly string[];
}

/** The log cannot accept records now; the caller answers 503 and the sender tries again. */
export class LogUnavailable extends Error {
  override readonly name = "LogUnavailable";
}

/**
 * How long afterwards a sent record may still become readable: a leader waits for a stalled replica
 * for one and a half times `replica.lag.time.max.ms` (30 s), then goes on alone.
 */
export const kafkaLateMsMax = 45_000;

/** Some records were sent, and are or may become readable for a while (`kafkaLateMsMax`). */
export class AppendUncertain extends LogUnavailable {
  /** Resolves when all that was sent is readable; rejects when that stays unknown. */
  readonly stored: Promise<void>;

  constructor(message: string, { stored, ...options }: ErrorOptions & { stored: Promise<void> }) {
    super(message, options);
    this.stored = stored;
  }
}

/** The log cannot be read now; the same question may be repeated. */
export class LogUnreadable extends Error {
  override readonly name = "LogUnreadable";
}

/** All methods but `append` and `place` may reject with LogUnreadable. */
export interface Log {
  /**
   * Other processes may be members of the same groups: what a member saw may be old by the time it
   * writes.
   */
  readonly shared: boolean;
  /** @throws LogUnavailable when the records may not be durable; see AppendUncertain. */
  append(topic: Topic, records: readonly NewRecord[]): Promise<Position[]>;
  /** @throws LogUnavailable while the last append failed, and another one would fail as well */
  checkAppends(topic: Topic): Promise<void>;
  consume(options: ConsumeOptions): Subscription;
  /**
   * `from`: the next offset wanted, by partition; a partition left out begins at its end. One call
   * of the handler at a time, so a slow one holds up the tail.
   */
  tail(
    topic: Topic,
    handle: (record: LogRecord) => void | Promise<void>,
    from?: ReadonlyMap<number, bigint>,
  ): Subscription;
  /**
   * Up to `recordsMax` records from `offset` (inclusive) on; possibly fewer. None only where the
   * partition ends: an unreadable partition is LogUnreadable.
   */
  read(topic: Topic, partition: number, offset: bigint, recordsMax: number): Promise<LogRecord[]>;
  partitionOf(topic: Topic, key: string): number;
  /** The offset the next record will get, by partition. */
  ends(topic: Topic): Promise<bigint[]>;
  earliest(topic: Topic): Promise<bigint[]>;
  /** The offset from which the group would continue after a crash, by partition. */
  committed(topic: Topic, group: string): Promise<bigint[]>;
  /**
   * By partition: the offset after the last record whose handler has resolved and whose rows are
   * shown, although something may be left to finish. Of other processes: what they announced when
   * it was shown.
   */
  handled(topic: Topic, group: string): Promise<bigint[]>;
  /** Moves a group while none of its members runs, for a replay. */
  seek(topic: Topic, group: string, offsets: ReadonlyMap<number, bigint>): Promise<void>;
  /** Gives a topic more partitions, at the end of the list; a restore into a narrower log. */
  widen(topic: Topic, partitions: number): Promise<void>;
  /**
   * Removes what lies before `offset`, and skips offsets that the partition has not reached, as if
   * retention had removed them. If interrupted, it is repeated. For a restore, while nothing else
   * appends.
   * @throws LogUnavailable
   */
  begin(topic: Topic, partition: number, offset: bigint): Promise<void>;
  /**
   * Puts records where another log had them: the first gets `offset`, where the partition ends, and
   * so on, in this partition whatever the keys. For a restore, too.
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

/**
 * Bulk: raw events that come thousands at a time, in a large batch or from a provider's history.
 * They have a partition of their own, the last one of the raw topic, so that nobody's webhook waits
 * behind them.
 */
const bulkPrefix = "bulk:";

export function bulkKey(key: string): string {
  return `${bulkPrefix}${key}`;
}

/** @param spread which of so many partitions a key belongs to */
export function partitionWithBulk(
  topic: Topic,
  key: string,
  partitions: number,
  spread: (key: string, partitions: number) => number,
): number {
  if (topic !== topics.raw || partitions === 1) return spread(key, partitions);
  const last = partitions - 1;
  return key.startsWith(bulkPrefix) ? last : spread(key, last);
}

/** Null where the topic has only one partition: bulk lies among all else. */
export function bulkPartition(log: Pick<Log, "partitionOf">): number | null {
  const bulk = log.partitionOf(topics.raw, bulkPrefix);
  return bulk === log.partitionOf(topics.raw, "") ? null : bulk;
}

/** One batch on Kafka, with its frame: `max.message.bytes` of the topics. */
export const kafkaMessageBytesMax = 8 * 1024 * 1024;
const frameBytesMax = 64 * 1024;

/** One record, which may be a batch of its own. */
export const logRecordBytesMax = kafkaMessageBytesMax - frameBytesMax;

/** No log accepts this record, however often it is sent: the event is to blame, not a store. */
export class RecordTooLarge extends Error {
  override readonly name = "RecordTooLarge";
}

/** @throws RecordTooLarge before any of them is appended */
export function refuseTooLarge(records: readonly NewRecord[]): void {
  for (const { key, value } of records) {
    const bytes = Buffer.byteLength(key) + value.length;
    if (bytes <= logRecordBytesMax) continue;
    throw new RecordTooLarge(
      `a record of ${bytes} bytes is larger than the log takes (${logRecordBytesMax})`,
    );
  }
}
