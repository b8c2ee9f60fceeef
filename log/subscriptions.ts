/** What runs until it is closed, on every log: loops, the arrivals they wait for, tails. */
import { setTimeout as pause } from "node:timers/promises";
import type { LogRecord, Subscription } from "./log.js";
import type { Logger } from "../runtime/logger.js";

/** Runs the loop until it is closed. */
export function follow(run: (stop: AbortSignal) => Promise<void>): Subscription {
  const stopping = new AbortController();
  const running = run(stopping.signal);
  return {
    async close() {
      stopping.abort();
      await running;
    },
  };
}

/** Resolves early when stopped, which the loops' conditions see. */
export async function rest(ms: number, stop: AbortSignal): Promise<void> {
  if (ms > 0) await pause(ms, undefined, { signal: stop }).catch(() => undefined);
}

/** Wakes all waiters, for example when a topic has new records. */
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

/** Those of a log that are open: each is closed once, the rest with the log. */
export class Subscriptions {
  readonly #open = new Set<Subscription>();

  add(parts: readonly Subscription[], ended: () => void = () => undefined): Subscription {
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      await Promise.all(parts.map((part) => part.close()));
      this.#open.delete(subscription);
      ended();
    };
    const subscription = { close: () => (closing ??= close()) };
    this.#open.add(subscription);
    return subscription;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#open, (one) => one.close()));
  }
}

/** How many records of a partition a tail takes at a time. */
export const tailRecordsMax = 256;

/**
 * Gives a tail its records, one at a time; what goes wrong with one holds up nothing.
 * @param take what a partition has by now, once each
 * @param arrivals announced when there may be more
 */
export async function giveTail(
  take: readonly (() => readonly LogRecord[])[],
  arrivals: Arrivals,
  handle: (record: LogRecord) => void | Promise<void>,
  logger: Logger,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const records = take.flatMap((one) => one());
    if (records.length === 0) await arrivals.next(stop);
    for (const record of records) {
      if (stop.aborted) return;
      try {
        await handle(record);
      } catch (error) {
        const { topic, partition, offset } = record;
        const where = { topic, partition, offset: offset.toString() };
        logger.error({ err: error, ...where }, "a tail's handler failed");
      }
    }
  }
}
