/**
 * A group's work on one partition. Batches are handled one after another; what they leave to finish
 * goes on side by side; the offset moves last. The same on every log.
 */
import { limits } from "../../config.js";
import type { Topic } from "../../schemas/records/records.js";
import type { ConsumeOptions, LogRecord, Subscription } from "./log.js";
import { type Arrivals, follow, rest } from "./subscriptions.js";
import type { Logger } from "../../runtime/logger.js";
import { isStoreAway } from "../store-away.js";

export const firstPauseMs = 100;
/** A batch that took long because it had to be repeated is no reason to rest long. */
const restMsMax = 2_000;

/** Another member of the group has the partition, and handles what was not committed. */
export class PartitionLost extends Error {
  override readonly name = "PartitionLost";
}

/** The records of one partition that can be read at once. */
export interface Source {
  readonly topic: Topic;
  readonly number: number;
  /** The offset after the last record that can be read now. */
  readonly end: number;
  /** None when `offset` is the end; fewer than there are when it was set back. */
  read(offset: number, recordsMax: number, bytesMax: number): LogRecord[];
}

/** As many as have `bytesMax` bytes together, but at least one. */
export function within(records: Iterable<LogRecord>, bytesMax: number): LogRecord[] {
  const taken: LogRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    bytes += record.value.length;
    if (bytes > bytesMax && taken.length > 0) break;
    taken.push(record);
  }
  return taken;
}

/** How far a group is in one partition, and the right to work there: one member at a time. */
export interface GroupOffset {
  offset(): number;
  /** Records before it are shown; it goes back to `offset` when a run of batches fails. */
  handled: number;
  /** Where other processes read the log: lets them know `handled`, as it is ahead of the offset. */
  announce?(): void;
  /** Resolves when the new offset is durable. */
  move(offset: number): Promise<void>;
  /** Runs `work` when no other member of the group works on this partition. */
  alone(work: () => Promise<void>): Promise<void>;
}

export function consumePartition(
  source: Source,
  group: GroupOffset,
  arrivals: Arrivals,
  options: ConsumeOptions,
  logger: Logger,
): Subscription {
  return follow(async (stop) => {
    let pauseMs = firstPauseMs;
    let failedAt: bigint | undefined;
    const suspects = new Suspects();
    while (!stop.aborted) {
      if (group.offset() >= source.end) {
        await arrivals.next(stop);
        continue;
      }
      const run = new Run(source, group, arrivals, options, suspects, stop);
      try {
        await group.alone(() => run.untilFinished());
        pauseMs = firstPauseMs;
        await run.rest();
      } catch (error) {
        const where = whereabouts(options.group, source, run.failed);
        if (error instanceof PartitionLost) {
          logger.info(where, "another member of the group has the partition now");
          // It is stopped soon.
          await rest(restMsMax, stop);
          continue;
        }
        const [first] = run.failed;
        // It got further than the last time.
        if (first?.offset !== failedAt) pauseMs = firstPauseMs;
        failedAt = first?.offset;
        const isAway = isStoreAway(error);
        if (isAway) suspects.clear();
        const verdict =
          options.passOver === undefined || isAway ? "again" : suspects.failed(run.failed, error);
        if (verdict !== "again") {
          logger.warn({ err: error, ...where }, `a batch failed: ${next[verdict]}`);
          continue;
        }
        logger.error({ err: error, pauseMs, ...where }, "a batch failed and is handled again");
        await rest(pauseMs, stop);
        pauseMs = Math.min(pauseMs * 2, limits.retryPauseMsMax);
      }
    }
  });
}

const next = {
  halved: "a half of it is handled by itself",
  found: "its one record is passed over",
} as const;

/** Records whose handling or finishing failed; none where their offset could not be moved. */
interface Failure {
  readonly records: readonly LogRecord[];
  readonly error: unknown;
}

/** Batches from the group's offset on, until all that was handled is finished. */
class Run {
  failed: readonly LogRecord[] = [];
  #restMs = 0;
  #next = 0;
  #isOver = false;
  #shown: Promise<void> = Promise.resolve();
  #unfinished = 0;
  readonly #failures: Failure[] = [];
  #finished: Promise<void> = Promise.resolve();
  #moved: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly source: Source,
    private readonly group: GroupOffset,
    private readonly arrivals: Arrivals,
    private readonly options: ConsumeOptions,
    private readonly suspects: Suspects,
    private readonly stop: AbortSignal,
  ) {}

  async untilFinished(): Promise<void> {
    await this.#passOver();
    // The previous member may have handled these while this one waited.
    this.#next = this.group.offset();
    this.group.handled = this.#next;
    try {
      do {
        // Before reading, so that what comes meanwhile belongs to the next batch.
        await this.rest();
        const { batchRecordsMax } = this.options;
        const read = this.source.read(this.#next, batchRecordsMax, limits.consumedBytesMax);
        const records = this.suspects.among(read);
        const last = records.at(-1);
        if (last === undefined) {
          // A restore or retention may have left nothing before the end.
          const { end } = this.source;
          if (this.#unfinished > 0) await this.arrivals.next(this.stop);
          else if (this.#next < end) await this.group.move((this.#next = end));
          continue;
        }
        if (this.stop.aborted) break;
        await this.#handle(records, Number(last.offset) + 1);
      } while (this.#unfinished > 0 && this.#failures.length === 0 && !this.stop.aborted);
    } finally {
      await this.#moved;
      this.#isOver = true;
      this.group.handled = this.group.offset();
    }
    const [first] = this.#failures.toSorted((one, other) => placeOf(one) - placeOf(other));
    if (first === undefined) return;
    this.failed = first.records;
    throw first.error;
  }

  async rest(): Promise<void> {
    const { pace } = this.options;
    if (pace !== undefined) return pace.turn(this.stop);
    const ms = this.#restMs;
    this.#restMs = 0;
    await rest(ms, this.stop);
  }

  /** Passes over the record that fails by itself; then the batches continue behind it. */
  async #passOver(): Promise<void> {
    const found = this.suspects.foundAt(this.group.offset());
    if (found === null) return;
    await this.options.passOver?.(found.record, found.error);
    await this.group.move(Number(found.record.offset) + 1);
  }

  async #handle(records: readonly LogRecord[], end: number): Promise<void> {
    const began = Date.now();
    try {
      const left = await this.options.handle(records);
      this.#showAfter(left?.shown, end);
      this.#moveAfter(records, left?.finished, end);
    } catch (error) {
      this.#failures.push({ records, error });
      return;
    }
    this.#next = end;
    const took = Date.now() - began;
    this.options.pace?.ended(took);
    this.#restMs = Math.min(restMsMax, took / (this.options.shareMax ?? 1) - took);
  }

  /** In order. A failure to show is reported by what the batch left to finish. */
  #showAfter(shown: Promise<void> | undefined, offset: number): void {
    const move = (): void => {
      if (this.#isOver || offset <= this.group.handled) return;
      this.group.handled = offset;
      // Else the offset follows at once.
      if (shown !== undefined) this.group.announce?.();
    };
    this.#shown = Promise.all([this.#shown, shown]).then(move);
    this.#shown.catch(() => undefined);
  }

  /** Batches finish in any order, but the offset moves in theirs. */
  #moveAfter(
    records: readonly LogRecord[],
    finished: Promise<void> | undefined,
    offset: number,
  ): void {
    this.#unfinished += 1;
    const before = this.#finished;
    const own = finished?.catch((error: unknown) => {
      this.#failures.push({ records, error });
      throw error;
    });
    this.#finished = Promise.all([before, own]).then(() => undefined);
    const move = (): Promise<unknown> =>
      this.group
        .move(offset)
        .catch((error: unknown) => this.#failures.push({ records: [], error }));
    // By then a failure to finish is among the failures.
    const moved = this.#finished
      .then(move, () => undefined)
      .finally(() => {
        this.#unfinished -= 1;
        this.arrivals.announce();
      });
    this.#moved = Promise.all([this.#moved, moved]);
  }
}

function placeOf({ records: [first] }: Failure): number {
  return first === undefined ? Number.POSITIVE_INFINITY : Number(first.offset);
}

function whereabouts(
  group: string,
  { topic, number }: Source,
  records: readonly LogRecord[],
): Record<string, unknown> {
  const offset = records[0]?.offset.toString();
  return { group, topic, partition: number, offset, records: records.length };
}

const batchTriesMax = 2;
const recordTriesMax = 4;

/** What a failure means: handle the same again, use smaller batches, or pass over one record. */
type Verdict = "again" | "halved" | "found";

interface Found {
  readonly record: LogRecord;
  readonly error: unknown;
}

/**
 * Finds the one event that makes a partition's batches fail. A batch that failed twice is halved
 * again and again until a single record fails, which is passed over (`ConsumeOptions.passOver`).
 * Kept in memory only, because the parts that succeeded have moved the group's offset.
 */
class Suspects {
  /** Offsets where a batch has to end, the nearest last; the first is the end of what failed. */
  #ends: bigint[] = [];
  /** A record of that stretch was found: the others are known to succeed without it. */
  #hasFound = false;
  #failedAt: bigint | null = null;
  #tries = 0;
  #found: Found | null = null;

  /** The record to pass over first, while the group stands at it. */
  foundAt(offset: number): Found | null {
    this.#forgetBelow(BigInt(offset));
    if (this.#found !== null && Number(this.#found.record.offset) !== offset) this.#found = null;
    return this.#found;
  }

  /** As many of the first of these as may be handled together. */
  among(records: readonly LogRecord[]): readonly LogRecord[] {
    const [first] = records;
    if (first === undefined) return records;
    // Those before it may still fail to finish, so their ends stay.
    const end = this.#ends.findLast((one) => one > first.offset);
    if (end === undefined) return records;
    return records.filter(({ offset }) => offset < end);
  }

  /** @param records handled together, for which no store is to blame */
  failed(records: readonly LogRecord[], error: unknown): Verdict {
    const [first, last] = [records[0], records.at(-1)];
    const middle = records[Math.ceil(records.length / 2)];
    if (first === undefined || last === undefined) return "again";
    this.#forgetBelow(first.offset);
    this.#tries = first.offset === this.#failedAt ? this.#tries + 1 : 1;
    this.#failedAt = first.offset;
    if (middle === undefined) {
      if (this.#tries < recordTriesMax && !this.#hasFound) return "again";
      this.#found = { record: first, error };
      this.#hasFound = true;
      return "found";
    }
    const isHalf = this.#ends.length > 0;
    if (!isHalf && this.#tries < batchTriesMax) return "again";
    if (!isHalf) this.#ends.push(last.offset + 1n);
    this.#ends.push(middle.offset);
    this.#tries = 0;
    return "halved";
  }

  /** A store is unavailable, and may have caused the failures: all are tried again. */
  clear(): void {
    this.#ends = [];
    this.#hasFound = false;
    this.#found = null;
    this.#tries = 0;
  }

  /** What lies before is handled. */
  #forgetBelow(offset: bigint): void {
    while ((this.#ends.at(-1) ?? offset + 1n) <= offset) this.#ends.pop();
    if (this.#ends.length === 0) this.#hasFound = false;
  }
}
