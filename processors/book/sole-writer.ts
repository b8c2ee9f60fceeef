/**
 * The booking shortcut of a process that owns its log and its tables: the missing rows follow from
 * what is known (docs/decisions/exactly-once.md), except of a batch that may be partly booked, by a
 * killed process or a failed attempt.
 */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { Log, LogRecord } from "../../log/log.js";
import type { Logger } from "../../runtime/logger.js";
import { TryLater } from "../../runtime/store-away.js";
import { topics } from "../../schemas/records/records.js";
import { KnownKeys } from "./money/known-keys.js";
import { WriteBehind } from "./write-behind.js";

/** People see a transaction at once; its ledger rows and facts follow this much later. */
const followMs = 150;
/** Batches that wait to be followed; the next waits for them. */
const batchesWaitingMax = 16;

/** What a sole writer needs of its service. */
interface Stores {
  readonly clickhouse: ClickHouse;
  readonly log: Pick<Log, "ends" | "shared">;
  readonly logger: Logger;
}

/** What is left to be written of a batch, and its first record. */
interface Following<Rows> {
  readonly first: LogRecord;
  readonly rows: Rows;
}

/** A batch before it failed, so this one has to be given again. */
export class ComesAgain extends TryLater {
  override readonly name = "ComesAgain";
}

export class SoleWriter<Rows> {
  #turn: Promise<unknown> = Promise.resolve();
  /** By partition of the facts topic: records below this offset may be booked in part. */
  readonly #doubtfulBelow: Map<number, bigint>;
  /** By partition: the offset after the last batch booked. */
  readonly #bookedBelow = new Map<number, bigint>();
  /** By partition: where the first batch begins that failed and was not given again yet. */
  readonly #missingFrom = new Map<number, bigint>();
  readonly #known = new KnownKeys();
  readonly #behind: WriteBehind<Following<Rows>>;
  #waiting = 0;
  /** What was known is forgotten: rows on their way are neither in memory nor in the table. */
  #mustSettle = false;

  private constructor(
    ends: readonly bigint[],
    private readonly clickhouse: ClickHouse,
    private readonly logger: Logger,
    follow: (rows: readonly Rows[]) => Promise<void>,
  ) {
    this.#doubtfulBelow = new Map(ends.map((end, partition) => [partition, end]));
    this.#behind = new WriteBehind(async (batches) => {
      const written = this.#known.writing();
      try {
        // Stored without what came before it, a reading would be taken for a payment's first.
        for (const { first } of batches) this.#assertNothingIsMissing(first);
        await follow(batches.map(({ rows }) => rows));
      } catch (error) {
        this.#doubtAll();
        for (const { first } of batches) this.#missFrom(first);
        throw error;
      }
      written();
    }, followMs);
  }

  /**
   * To be called before the first record is booked; null where others write, too.
   * @param follow writes the rows of several batches that nobody waits for
   */
  static async over<Rows>(
    { clickhouse, log, logger }: Stores,
    follow: (rows: readonly Rows[]) => Promise<void>,
  ): Promise<SoleWriter<Rows> | null> {
    if (log.shared || clickhouse.isShared) return null;
    return new SoleWriter(await log.ends(topics.facts), clickhouse, logger, follow);
  }

  /**
   * Books one batch at a time, of any partition. If a batch or its later rows fail, those after it
   * must be given again with it (`ConsumeOptions.handle`); until then they are refused.
   * @param records none that the next run of batches may pass over
   * @param alone books what cannot have been booked in part, and returns the rows to follow
   * @param careful books any batch
   * @param isDoubtful it may have been booked in part, wherever it lies
   * @returns what resolves when all of the batch is written
   * @throws ComesAgain
   */
  run(
    records: readonly LogRecord[],
    alone: (known: KnownKeys) => Promise<Rows>,
    careful: (known: KnownKeys) => Promise<void>,
    isDoubtful = false,
  ): Promise<{ readonly finished: Promise<void> }> {
    if (this.#known.stored.wanted) void this.#readKeys();
    const turn = this.#turn.then(() => this.#book(records, alone, careful, isDoubtful));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** To be called when the consumer passes over a record: those behind it need not wait for it. */
  passOver({ partition, offset }: LogRecord): void {
    if (this.#missingFrom.get(partition) === offset) this.#missingFrom.delete(partition);
  }

  async #book(
    records: readonly LogRecord[],
    alone: (known: KnownKeys) => Promise<Rows>,
    careful: (known: KnownKeys) => Promise<void>,
    isDoubtful: boolean,
  ): Promise<{ readonly finished: Promise<void> }> {
    const [first, last] = [records[0], records.at(-1)];
    if (first === undefined || last === undefined) return { finished: Promise.resolve() };
    const { partition } = first;
    const isNew = !isDoubtful && first.offset >= (this.#doubtfulBelow.get(partition) ?? 0n);
    if (!isNew || this.#waiting >= batchesWaitingMax) this.#mustSettle = true;
    while (this.#mustSettle) {
      this.#mustSettle = false;
      await this.#behind.settled();
    }
    this.#assertNothingIsMissing(first);
    this.#bookedBelow.set(partition, last.offset + 1n);
    try {
      if (isNew) {
        const rows = await alone(this.#known);
        // It may have looked when rows before it were forgotten and others still on their way.
        if (this.#mustSettle) throw new ComesAgain("rows of a batch before it could not follow");
        return { finished: this.#follow({ first, rows }) };
      }
      this.#known.forget();
      await careful(this.#known);
    } catch (error) {
      this.#doubtAll();
      this.#missFrom(first);
      throw error;
    }
    if (last.offset >= (this.#missingFrom.get(partition) ?? 0n)) {
      this.#missingFrom.delete(partition);
    }
    return { finished: Promise.resolve() };
  }

  /** @throws ComesAgain when a batch before it has to be given again first */
  #assertNothingIsMissing({ partition, offset }: LogRecord): void {
    const missing = this.#missingFrom.get(partition);
    if (missing === undefined || offset <= missing) return;
    throw new ComesAgain(`after what begins at ${missing} of partition ${partition}`);
  }

  #missFrom({ partition, offset }: LogRecord): void {
    const missing = this.#missingFrom.get(partition);
    if (missing === undefined || offset < missing) this.#missingFrom.set(partition, offset);
  }

  /** Looks are saved only while it succeeds, so a failure costs nothing but them. */
  async #readKeys(): Promise<void> {
    try {
      await this.#known.stored.read(this.clickhouse, async () => {
        // The batch under way now may have added its keys before there was anything to add them to.
        await this.#turn;
        await this.#behind.settled();
      });
    } catch (error) {
      this.logger.warn({ err: error }, "the keys of money_facts could not be read");
    }
  }

  #follow(batch: Following<Rows>): Promise<void> {
    this.#waiting += 1;
    const finished = this.#behind.add(batch).finally(() => (this.#waiting -= 1));
    // The consumer may look at it only when its handler has ended.
    finished.catch(() => undefined);
    return finished;
  }

  /** Everything booked since the offsets last moved may be partly there, and is delivered again. */
  #doubtAll(): void {
    for (const [partition, offset] of this.#bookedBelow) {
      const known = this.#doubtfulBelow.get(partition) ?? 0n;
      if (offset > known) this.#doubtfulBelow.set(partition, offset);
    }
    this.#known.forget();
    this.#mustSettle = true;
  }
}
