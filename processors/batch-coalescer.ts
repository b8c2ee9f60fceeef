/**
 * Handles batches of several partitions as one, because a statement costs much the same for many
 * rows as for few. Records of other partitions collect for the next batch. Work that a batch leaves
 * is finished during the next one.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { LogRecord } from "../stores/log/log.js";
import { limits } from "../config.js";
import { isStoreAway } from "../stores/store-away.js";

type Handle = (records: readonly LogRecord[]) => Promise<Left | void>;

export interface Left {
  readonly finished: Promise<void>;
  readonly shown?: Promise<void>;
}

export interface CoalescerOptions {
  /** Beside `limits.consumedBytesMax`. */
  readonly recordsMax: number;
  /** The share of time all batches together may take, up to 1. */
  readonly shareMax: number;
}

/**
 * All callers whose records are in a batch share its outcome: if it fails, all deliver theirs
 * again.
 */
export function coalesced({ recordsMax, shareMax }: CoalescerOptions, handle: Handle): Handle {
  const waiting: Waiting[] = [];
  let isRunning = false;
  /** What the previous batch still has to finish. If that fails, only its own callers fail. */
  let finishing: Promise<unknown> = Promise.resolve();
  /**
   * Partitions of a batch that failed: each is handled by itself next, to find the one at fault.
   */
  const suspects = new Set<number>();

  function doubt(taken: readonly Waiting[], error: unknown): void {
    if (isStoreAway(error)) return;
    for (const caller of taken) suspects.add(partitionOf(caller));
  }

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      const taken = take(waiting, recordsMax, suspects);
      const began = performance.now();
      try {
        const left = await handle(taken.flatMap(({ records }) => records));
        for (const caller of taken) suspects.delete(partitionOf(caller));
        left?.finished.catch((error: unknown) => doubt(taken, error));
        for (const caller of taken) caller.resolve(left);
        await finishing;
        finishing = Promise.allSettled([left?.finished]);
      } catch (error) {
        doubt(taken, error);
        for (const caller of taken) caller.reject(error);
      }
      const tookMs = performance.now() - began;
      await pause(Math.min(restMsMax, tookMs / shareMax - tookMs));
    }
    isRunning = false;
  }

  return (records) =>
    new Promise((resolve, reject) => {
      waiting.push({ records, resolve, reject });
      if (!isRunning) void run();
    });
}

/** A batch that took long because a store was unavailable is no reason to rest long. */
const restMsMax = 1_000;

interface Waiting {
  readonly records: readonly LogRecord[];
  resolve(left: Awaited<ReturnType<Handle>>): void;
  reject(error: unknown): void;
}

function partitionOf({ records: [first] }: Waiting): number {
  return first?.partition ?? -1;
}

/** The first one and as many after it as fit; a suspect by itself. */
function take(waiting: Waiting[], recordsMax: number, suspects: ReadonlySet<number>): Waiting[] {
  let [count, bytes] = [0, 0];
  let hasSuspect = false;
  const beyond = waiting.findIndex((caller, index) => {
    const { records } = caller;
    if (hasSuspect || (index > 0 && suspects.has(partitionOf(caller)))) return true;
    hasSuspect = suspects.has(partitionOf(caller));
    count += records.length;
    for (const { value } of records) bytes += value.length;
    return index > 0 && (count > recordsMax || bytes > limits.consumedBytesMax);
  });
  return waiting.splice(0, beyond === -1 ? waiting.length : beyond);
}
