/** What runs until it is closed, on every log: loops, the arrivals they wait for, tails. */
import { setTimeout as pause } from "node:timers/promises";
import type { LogRecord, Subscription } from "./log.js";
import type { Logger } from "../../runtime/logger.js";

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

/** Resolves early when stopped; the loops' conditions notice that. */
export async function rest(ms: number, stop: AbortSignal): Promise<void> {
  if (ms > 0) await pause(ms, undefined, { signal: stop }).catch(() => undefined);
}

/** Wakes all waiters, for example when a topic has new records. */
export class Arrivals {
  #next: { readonly promise: Promise<void>; readonly wake: () => void } | null = null;
  readonly #stops = new WeakSet<AbortSignal>();

  announce(): void {
    const next = this.#next;
    this.#next = null;
    next?.wake();
  }

  /** Resolves at the next announcement or when `stop`, the same one each time, is aborted. */
  async next(stop: AbortSignal): Promise<void> {
    if (stop.aborted) return;
    // Once for all waits: a listener for each cost more than the wait itself.
    if (!this.#stops.has(stop)) {
      this.#stops.add(stop);
      stop.addEventListener("abort", () => this.announce());
    }
    this.#next ??= openNext();
    await this.#next.promise;
  }
}

function openNext() {
  let wake = (): void => undefined;
  const promise = new Promise<void>((resolve) => (wake = resolve));
  return { promise, wake };
}

/** The open subscriptions of a log: each is closed once, the rest with the log. */
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

/** Records of a partition that a tail takes at a time. */
export const tailRecordsMax = 256;

/**
 * Gives a tail its records, one at a time; a failure with one holds up nothing.
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
