/**
 * Appends the outbox to ClickHouse, in sealed batches at a pace, because an insert costs the engine
 * much the same whatever its size. A batch that may have been written before a crash is written
 * again with its token, which the engine recognizes. While ClickHouse does not answer, the outbox
 * grows.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import { topics } from "../../schemas/records/records.js";
import { rejectNews } from "../../workspaces/rejects/rejects.js";
import { Pace, type PaceOptions } from "../../runtime/pace.js";
import type { Log } from "../../stores/log/log.js";
import { columnNames } from "../../stores/clickhouse/sql-text.js";
import { LogThrottle } from "../../runtime/log-throttle.js";
import type { Logger } from "../../runtime/logger.js";
import {
  Fenced,
  type OwnedPartition,
  type RowLane,
  rowLanes,
  type SealedBatch,
  type State,
} from "../../stores/state/state.js";
import { type BookedTable, bookedTableNames, bookedTables } from "./booked.js";

/** Where one process does everything: whoever asks for figures hurries the lanes. */
const pacesAlone: Readonly<Record<RowLane, PaceOptions>> = {
  shown: { shareMax: 1 / 40, restMsMax: 2_000 },
  rest: { shareMax: 1 / 20, hurriedShareMax: 1 / 4, restMsMax: 3_000 },
};
/** Where others read what this process writes, and cannot say that they wait. */
const pacesBesideOthers: Readonly<Record<RowLane, PaceOptions>> = {
  shown: { shareMax: 1 / 10, restMsMax: 150 },
  rest: { ...pacesAlone.rest, restMsMax: 2_000 },
};
/** One batch is one block to the engine. */
const batchBytesMax = 8 * 1024 * 1024;
/** Characters; no row is as long. */
const blockLengthMax = 16 * 1024 * 1024;
const firstPauseMs = 100;

export type RowsText = Partial<Record<BookedTable, string>>;

export class TableWriter {
  readonly #lanes: Readonly<Record<RowLane, LaneWriter>>;

  constructor(stores: Stores) {
    const paces = stores.log.shared ? pacesBesideOthers : pacesAlone;
    const open = (lane: RowLane) => new LaneWriter(lane, paces[lane], stores);
    this.#lanes = { shown: open("shown"), rest: open("rest") };
  }

  /**
   * Resolves when all that a partition queued in a lane up to this commit is written.
   * @throws Fenced: another process owns the partition
   */
  written(lane: RowLane, owned: OwnedPartition, sequence: bigint): Promise<void> {
    return this.#lanes[lane].written(owned, sequence);
  }

  /** Called when somebody waits for what is shown, or for all that is written. */
  hurry(what: "shown" | "all"): void {
    this.#lanes.shown.pace.hurry();
    if (what === "all") this.#lanes.rest.pace.hurry();
  }

  /** Why the last write failed; null: it did not. */
  get failure(): unknown {
    return this.#lanes.shown.failure ?? this.#lanes.rest.failure;
  }

  /** Rows are written as soon as they can be from now on. */
  hasten(): void {
    for (const { pace } of Object.values(this.#lanes)) pace.close();
  }

  /** As `hasten`, and whoever waits for rows that cannot be written now gets an error. */
  stop(): void {
    for (const lane of Object.values(this.#lanes)) lane.stop();
  }

  /** The next start writes what is still queued. */
  async close(): Promise<void> {
    this.hasten();
    await Promise.all(Object.values(this.#lanes).map((lane) => lane.close()));
  }
}

/** Writes all that is queued, for a command that works on the tables. Nothing may be booking. */
export async function writeQueued(stores: Stores): Promise<void> {
  const { log, state } = stores;
  const writer = new TableWriter(stores);
  writer.stop();
  const partitions = (await log.ends(topics.facts)).keys();
  try {
    for (const partition of partitions) {
      const owned = await state.take(partition);
      for (const lane of rowLanes) await writer.written(lane, owned, owned.sequence);
    }
  } finally {
    await writer.close();
  }
}

interface Stores {
  readonly clickhouse: Pick<ClickHouse, "append">;
  readonly log: Pick<Log, "ends" | "shared">;
  readonly logger: Logger;
  readonly state: Pick<State, "remove" | "seal" | "take">;
}

interface Waiter {
  readonly owned: OwnedPartition;
  readonly sequence: bigint;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

class LaneWriter {
  readonly pace: Pace;
  failure: unknown = null;
  #waiting: Waiter[] = [];
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;
  #isStopping = false;
  readonly #failures = new LogThrottle();
  readonly #stopping = new AbortController();

  constructor(
    private readonly lane: RowLane,
    pace: PaceOptions,
    private readonly stores: Pick<Stores, "clickhouse" | "logger" | "state">,
  ) {
    this.pace = new Pace(pace);
  }

  written(owned: OwnedPartition, sequence: bigint): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ owned, sequence, resolve, reject });
      if (!this.#isRunning) this.#running = this.#run();
    });
  }

  stop(): void {
    this.#isStopping = true;
    this.pace.close();
    if (this.failure !== null) this.#refuseAll(this.failure);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Ends in the same turn in which it finds nobody waiting, so a later caller starts it again. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    const { signal } = this.#stopping;
    let pauseMs = 0;
    try {
      while (this.#waiting.length > 0 && !signal.aborted) {
        await this.pace.turn(signal);
        if (signal.aborted) break;
        const began = performance.now();
        try {
          await this.#writeNext();
          this.failure = null;
          // After an outage, what was queued meanwhile follows at once.
          if (pauseMs === 0) this.pace.ended(performance.now() - began);
          pauseMs = 0;
        } catch (error) {
          this.failure = error;
          if (this.#isStopping) return this.#refuseAll(error);
          this.#report(error);
          pauseMs = Math.min(Math.max(firstPauseMs, 2 * pauseMs), limits.retryPauseMsMax);
          await pause(pauseMs, undefined, { signal }).catch(() => undefined);
        }
      }
    } finally {
      this.#isRunning = false;
    }
  }

  #report(error: unknown): void {
    const unreported = this.#failures.turn(this.lane);
    if (unreported === null) return;
    const { lane } = this;
    this.stores.logger.error({ err: error, lane, unreported }, "rows could not be written yet");
  }

  #refuseAll(error: unknown): void {
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting = [];
  }

  async #writeNext(): Promise<void> {
    // A later request may have been queued after the look.
    const asked = new Set(this.#waiting);
    const batch = await this.stores.state.seal(this.lane, batchBytesMax);
    if (batch === null) {
      await this.#refuseLost(asked);
      return this.#end((waiter) => asked.has(waiter));
    }
    await appendBatch(this.stores.clickhouse, batch);
    await this.stores.state.remove(batch);
    const written = new Map<number, bigint>();
    for (const { partition, sequence } of batch.entries) written.set(partition, sequence);
    this.#end(({ owned, sequence }) => sequence <= (written.get(owned.partition) ?? -1n));
    await this.#refuseLost(this.#waiting.filter(({ owned }) => !written.has(owned.partition)));
  }

  /** Partitions that another process has taken are written there. */
  async #refuseLost(waiting: Iterable<Waiter>): Promise<void> {
    for (const owned of new Set(Array.from(waiting, (waiter) => waiter.owned))) {
      if (await owned.isHeld()) continue;
      // Others may have joined since the look.
      const lost = this.#waiting.filter((waiter) => waiter.owned === owned);
      this.#waiting = this.#waiting.filter((waiter) => waiter.owned !== owned);
      for (const { reject } of lost) reject(new Fenced(owned.partition));
    }
  }

  #end(isWritten: (waiter: Waiter) => boolean): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter((waiter) => !isWritten(waiter));
    for (const waiter of waiting) if (isWritten(waiter)) waiter.resolve();
  }
}

async function appendBatch(clickhouse: Stores["clickhouse"], batch: SealedBatch): Promise<void> {
  const texts = batch.entries.map(({ value }) => readRows(value));
  for (const table of bookedTableNames) {
    const rows = texts.map((text) => text[table] ?? "").join("");
    let part = 0;
    for (const some of blocksOf(rows)) {
      await clickhouse.append({
        table,
        structure: bookedTables[table],
        rows: some,
        token: `${batch.token}-${(part += 1)}`,
        // These rows replace each other when repeated.
        mayBeThere: batch.isAgain && table !== "rejects",
      });
    }
    if (table === "rejects" && rows !== "") rejectNews.announce();
  }
}

/** Whole lines: one large payment has more rows than a statement takes. */
function* blocksOf(rows: string): Generator<string> {
  for (let from = 0; from < rows.length;) {
    const isLast = rows.length - from <= blockLengthMax;
    const to = isLast ? rows.length : rows.lastIndexOf("\n", from + blockLengthMax) + 1;
    yield rows.slice(from, to);
    from = to;
  }
}

export function writeRows(rows: RowsText): Buffer {
  return Buffer.from(JSON.stringify(rows));
}

export function readRows(value: Buffer): RowsText {
  const rows: RowsText = JSON.parse(value.toString());
  const { mrr_movements: movements } = rows;
  return movements === undefined ? rows : { ...rows, mrr_movements: withInterval(movements) };
}

/** Movements queued by an earlier version have no interval, which stands before `booked_at`. */
function withInterval(movements: string): string {
  const fields = movements.slice(0, movements.indexOf("\n")).split("\t").length;
  if (fields === movementFields) return movements;
  return movements.replace(/\t([^\t\n]*)\n/g, "\tunknown\t$1\n");
}

const movementFields = columnNames(bookedTables.mrr_movements).length;
