/**
 * Group commit: all waiting records go into one LMDB transaction, synced to disk, then the next.
 * One at a time, so that a failed transaction leaves no gap in the offsets.
 */
import { statfsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { RootDatabase } from "lmdb";
import { limits } from "../../../config.js";
import { LogUnavailable } from "../log.js";

/** Below it the log's disk counts as full, and calls are refused. */
const logFreeBytesMin = 16 * 1024 * 1024;

export interface Write<T> {
  readonly records: number;
  readonly bytes: number;
  /** Puts and removes while the transaction is open; the caller gets the result once durable. */
  apply(): T;
}

interface Waiting extends Write<void> {
  settle(error: LogUnavailable | null): void;
}

export class Writer {
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | null = null;
  #closed = false;
  #hasFailed = false;

  constructor(
    private readonly root: RootDatabase,
    private readonly path: string,
    private readonly pendingBytesMax: number,
    /** After each transaction, before waiting callers resolve. */
    private readonly ended: (durable: boolean) => void,
  ) {}

  /**
   * Resolves when the write is on disk.
   * @throws LogUnavailable when it may not be
   */
  write<T>(write: Write<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new LogUnavailable("the log is closed");
      if (this.#waitingBytes + write.bytes > this.pendingBytesMax) {
        throw new LogUnavailable("too many records wait to be written to the log");
      }
      let result: { value: T } | undefined;
      this.#waitingBytes += write.bytes;
      this.#waiting.push({
        records: write.records,
        bytes: write.bytes,
        apply: () => void (result = { value: write.apply() }),
        settle(error) {
          if (result && !error) resolve(result.value);
          else reject(error ?? new Error("committed without being applied"));
        },
      });
      this.#running ??= this.#run();
    });
  }

  /**
   * After a failed commit another is tried, with nothing but `put`.
   * @throws LogUnavailable when nothing can be written now
   */
  async check(put: () => void): Promise<void> {
    if (this.#isDiskFull()) throw this.#diskFull();
    if (this.#hasFailed) await this.write({ records: 0, bytes: 0, apply: put });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // The calls of one turn of the event loop share the first commit.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const writes = this.#take();
      const error = await this.#commit(writes);
      this.#hasFailed = error !== null;
      this.ended(error === null);
      for (const write of writes) write.settle(error);
    }
    this.#running = null;
  }

  #take(): Waiting[] {
    let records = 0;
    const writes: Waiting[] = [];
    for (const write of this.#waiting) {
      if (writes.length > 0 && records + write.records > limits.logCommitRecordsMax) break;
      records += write.records;
      this.#waitingBytes -= write.bytes;
      writes.push(write);
    }
    this.#waiting = this.#waiting.slice(writes.length);
    return writes;
  }

  async #commit(writes: readonly Waiting[]): Promise<LogUnavailable | null> {
    if (this.#isDiskFull()) return this.#diskFull();
    try {
      await this.root.batch(() => {
        for (const write of writes) write.apply();
      });
      return null;
    } catch (error) {
      return new LogUnavailable("the log could not be written", { cause: await reason(error) });
    }
  }

  /**
   * Asked before each commit, because LMDB stops answering after some that failed on a full disk.
   */
  #isDiskFull(): boolean {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize < logFreeBytesMin;
  }

  #diskFull(): LogUnavailable {
    return new LogUnavailable(`the log's disk has less than ${logFreeBytesMin} bytes free`);
  }
}

/**
 * LMDB rejects with "see commitError"; that promise rejects with the reason, mostly a moment later
 * and sometimes never.
 */
async function reason(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof Error && "commitError" in thrown)) return thrown;
  try {
    await Promise.race([thrown.commitError, pause(reasonMsMax)]);
    return thrown;
  } catch (cause) {
    return cause;
  }
}

const reasonMsMax = 100;
