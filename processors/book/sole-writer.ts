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
import { Pace, type PaceOptions } from "../../runtime/pace.js";
import { KnownKeys } from "./money/known-keys.js";
import { WriteBehind } from "./write-behind.js";

/** What lists show, and then everything else; messages wait for neither. */
const showPace: PaceOptions = { shareMax: 1 / 10, restMsMax: 150 };
const followPace: PaceOptions = { shareMax: 1 / 20, hurriedShareMax: 1 / 4, restMsMax: 1_000 };
/** Records whose rows wait to be written; the next batch waits for them. */
const recordsWaitingMax = 20_000;

/** What a sole writer needs of its service. */
interface Stores {
  readonly clickhouse: ClickHouse;
  readonly log: Pick<Log, "ends" | "shared">;
  readonly logger: Logger;
}

/** What is left to be written of a batch, and its first record. */
interface Following<Rows> {
  readonly first: LogRecord;
  readonly records: number;
  readonly rows: Rows;
  /** To be called when all of it is written. */
  written?: () => void;
}

/** Writes rows of several batches. */
type Write<Rows> = (rows: readonly Rows[]) => Promise<void>;

export interface Written {
  /** What lists show of it is there. */
  readonly shown?: Promise<void>;
  /** All of it is there. */
  readonly finished: Promise<void>;
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
  readonly #paces = { show: new Pace(showPace), follow: new Pace(followPace) };
  readonly #showing: WriteBehind<Following<Rows>>;
  readonly #following: WriteBehind<Following<Rows>>;
  /** Records. */
  #waiting = 0;
  /** What was known is forgotten: rows on their way are neither in memory nor in the table. */
  #mustSettle = false;

  private constructor(
    ends: readonly bigint[],
    private readonly clickhouse: ClickHouse,
    private readonly logger: Logger,
    follow: Write<Rows>,
    show: Write<Rows>,
  ) {
    this.#doubtfulBelow = new Map(ends.map((end, partition) => [partition, end]));
    this.#showing = this.#behind(this.#paces.show, async (batches) => {
      // All that is known by now is of these batches or of earlier ones.
      const written = this.#known.writing();
      for (const batch of batches) batch.written = written;
      await show(batches.map(({ rows }) => rows));
    });
    this.#following = this.#behind(this.#paces.follow, async (batches) => {
      await follow(batches.map(({ rows }) => rows));
      batches.at(-1)?.written?.();
    });
  }

  #behind(pace: Pace, write: Write<Following<Rows>>): WriteBehind<Following<Rows>> {
    return new WriteBehind(async (batches) => {
      try {
        // Stored without what came before it, a reading would be taken for a payment's first.
        for (const { first } of batches) this.#assertNothingIsMissing(first);
        await write(batches);
      } catch (error) {
        this.#doubtAll();
        for (const { first } of batches) this.#missFrom(first);
        throw error;
      }
    }, pace);
  }

  /**
   * To be called before the first record is booked; null where others write, too.
   * @param follow writes the rows of several batches that nobody waits for
   * @param show before it, those of their rows that lists show
   */
  static async over<Rows>(
    { clickhouse, log, logger }: Stores,
    follow: Write<Rows>,
    show: Write<Rows> = async () => {},
  ): Promise<SoleWriter<Rows> | null> {
    if (log.shared || clickhouse.isShared) return null;
    return new SoleWriter(await log.ends(topics.facts), clickhouse, logger, follow, show);
  }

  /** Somebody waits for what is shown, or for all of what is written. */
  hurry(what: "shown" | "all"): void {
    this.#paces.show.hurry();
    if (what === "all") this.#paces.follow.hurry();
  }

  /** From now on rows are written as soon as they can be. */
  close(): void {
    for (const pace of Object.values(this.#paces)) pace.close();
  }

  /**
   * Books one batch at a time, of any partition. If a batch or its later rows fail, those after it
   * must be given again with it (`ConsumeOptions.handle`); until then they are refused.
   * @param records none that the next run of batches may pass over
   * @param alone books what cannot have been booked in part, and returns the rows to follow
   * @param careful books any batch
   * @param isDoubtful it may have been booked in part, wherever it lies
   * @returns what resolves when the batch is written
   * @throws ComesAgain
   */
  run(
    records: readonly LogRecord[],
    alone: (known: KnownKeys) => Promise<Rows>,
    careful: (known: KnownKeys) => Promise<void>,
    isDoubtful = false,
  ): Promise<Written> {
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
  ): Promise<Written> {
    const [first, last] = [records[0], records.at(-1)];
    if (first === undefined || last === undefined) return { finished: Promise.resolve() };
    const { partition } = first;
    const isNew = !isDoubtful && first.offset >= (this.#doubtfulBelow.get(partition) ?? 0n);
    if (!isNew || this.#waiting >= recordsWaitingMax) this.#mustSettle = true;
    while (this.#mustSettle) {
      this.#mustSettle = false;
      await this.#settled();
    }
    this.#assertNothingIsMissing(first);
    this.#bookedBelow.set(partition, last.offset + 1n);
    try {
      if (isNew) {
        const rows = await alone(this.#known);
        // It may have looked when rows before it were forgotten and others still on their way.
        if (this.#mustSettle) throw new ComesAgain("rows of a batch before it could not follow");
        return this.#follow({ first, records: records.length, rows });
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
        await this.#settled();
      });
    } catch (error) {
      this.logger.warn({ err: error }, "the keys of money_facts could not be read");
    }
  }

  #follow(batch: Following<Rows>): Written {
    this.#waiting += batch.records;
    const shown = this.#showing.add(batch);
    const finished = shown
      .then(() => this.#following.add(batch))
      .finally(() => (this.#waiting -= batch.records));
    // The consumer may look at them only when its handler has ended.
    shown.catch(() => undefined);
    finished.catch(() => undefined);
    return { shown, finished };
  }

  /** Resolves when all that was added before is written, or has failed. */
  async #settled(): Promise<void> {
    await this.#showing.settled();
    await this.#following.settled();
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
