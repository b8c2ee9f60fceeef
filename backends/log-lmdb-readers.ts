/** What follows the log: consumers of a group, and tails. Woken by each commit, never polling. */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../config.js";
import type { Partition } from "./log-lmdb-partition.js";
import type { ConsumeOptions, LogRecord, Subscription } from "./log.js";
import type { Logger } from "./logger.js";

const firstPauseMs = 100;
const tailRecordsMax = 256;
/** A batch that took long, because it had to be repeated, is no reason to rest long. */
const restMsMax = 2_000;

/** Wakes whoever waits for new records of a topic. */
export class Arrivals {
  #waiting = new Set<() => void>();

  announce(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /** Resolves at the next announcement or when `stop` is aborted. */
  next(stop: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (stop.aborted) return resolve();
      const wake = (): void => {
        this.#waiting.delete(wake);
        stop.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      stop.addEventListener("abort", wake);
    });
  }
}

/** A group's place in one partition, and the right to work there: one member at a time. */
export interface Place {
  offset(): number;
  /** Resolves when the new offset is durable. */
  move(offset: number): Promise<void>;
  /** Runs `work` when no other member of the group works on this partition. */
  alone(work: () => Promise<void>): Promise<void>;
}

export function consumePartition(
  partition: Partition,
  place: Place,
  arrivals: Arrivals,
  options: ConsumeOptions,
  logger: Logger,
): Subscription {
  return follow(async (stop) => {
    let next = 0;
    while (!stop.aborted) {
      await rest(next - Date.now(), stop);
      if (place.offset() >= partition.end) {
        await arrivals.next(stop);
        continue;
      }
      await place.alone(async () => {
        // The member before may have handled these while this one waited.
        const records = partition.read(place.offset(), options.batchRecordsMax);
        const last = records.at(-1);
        if (last === undefined || stop.aborted) return;
        const began = Date.now();
        await retry(stop, logger.child(whereabouts(options.group, records)), async () => {
          await options.handle(records);
          await place.move(Number(last.offset) + 1);
        });
        const took = Date.now() - began;
        next = Date.now() + Math.min(restMsMax, took / (options.shareMax ?? 1) - took);
      });
    }
  });
}

/** Resolves early when stopped, which the loops' conditions see. */
async function rest(ms: number, stop: AbortSignal): Promise<void> {
  if (ms > 0) await pause(ms, undefined, { signal: stop }).catch(() => undefined);
}

/** @param next by partition, the first offset wanted */
export function tailPartitions(
  partitions: readonly Partition[],
  next: number[],
  arrivals: Arrivals,
  handle: (record: LogRecord) => void | Promise<void>,
  logger: Logger,
): Subscription {
  async function give(record: LogRecord): Promise<void> {
    try {
      await handle(record);
    } catch (error) {
      logger.error({ err: error, ...whereabouts("tail", [record]) }, "a tail's handler failed");
    }
  }
  return follow(async (stop) => {
    while (!stop.aborted) {
      let gave = false;
      for (const [index, partition] of partitions.entries()) {
        for (const record of partition.read(next[index] ?? partition.end, tailRecordsMax)) {
          if (stop.aborted) return;
          await give(record);
          next[index] = Number(record.offset) + 1;
          gave = true;
        }
      }
      if (!gave) await arrivals.next(stop);
    }
  });
}

/** The same work again until it succeeds or is told to stop, with growing pauses. */
async function retry(stop: AbortSignal, logger: Logger, work: () => Promise<void>): Promise<void> {
  for (let pauseMs = firstPauseMs; !stop.aborted;) {
    try {
      return await work();
    } catch (error) {
      logger.error({ err: error, pauseMs }, "a batch failed and is handled again");
      await rest(pauseMs, stop);
      pauseMs = Math.min(pauseMs * 2, limits.retryPauseMsMax);
    }
  }
}

function whereabouts(group: string, records: readonly LogRecord[]): Record<string, unknown> {
  const first = records[0];
  return {
    group,
    topic: first?.topic,
    partition: first?.partition,
    offset: first?.offset.toString(),
    records: records.length,
  };
}

function follow(run: (stop: AbortSignal) => Promise<void>): Subscription {
  const stopping = new AbortController();
  const running = run(stopping.signal);
  return {
    async close() {
      stopping.abort();
      await running;
    },
  };
}
