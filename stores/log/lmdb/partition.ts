/**
 * The writer of the LMDB log, and one partition of a topic: offset → append time, key and value, in
 * one named store.
 */
import assert from "node:assert";
import type { Database, RootDatabase } from "lmdb";
import type { Topic } from "../../../schemas/records/records.js";
import { type LogRecord, type NewRecord, LogUnavailable } from "../log.js";
import { within } from "../partition-consumer.js";
import { Arrivals } from "../subscriptions.js";
import { statfsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../../config.js";

/** 8 bytes append time (ms since 1970), 2 bytes length of the key. */
const headBytes = 10;
const keyBytesMax = 0xffff;
/** The same on every machine, so that a folder can move. */
export const pageBytes = 4096;

export class Partition {
  /** The next offset of what is durable; only records before it may be seen. */
  end: number;
  /** The next offset, with the commit that is being written. */
  staged: number;
  readonly arrivals = new Arrivals();

  constructor(
    readonly topic: Topic,
    readonly number: number,
    readonly store: Database<Buffer, number>,
    /** Where it begins while it holds no record: after those a restore left out. */
    beginsAt: number,
  ) {
    // Retention always leaves the newest record, so it says where the partition ends.
    const newest = [...store.getKeys({ reverse: true, limit: 1 })][0];
    this.end = newest === undefined ? beginsAt : newest + 1;
    this.staged = this.end;
  }

  /** Inside a commit: gives the record the next offset. */
  put(record: NewRecord, now: number): number {
    const offset = this.staged;
    this.staged += 1;
    void this.store.put(offset, encode(record, now));
    return offset;
  }

  offsetsBefore(offset: number, recordsMax: number): number[] {
    return [...this.store.getKeys({ end: offset, limit: recordsMax })];
  }

  /** Inside a commit: the next record gets this offset, which none had. */
  begin(offset: number): void {
    this.staged = offset;
  }

  earliest(): number {
    return [...this.store.getKeys({ limit: 1 })][0] ?? this.end;
  }

  read(offset: number, recordsMax: number, bytesMax = Number.POSITIVE_INFINITY): LogRecord[] {
    // Tails look at every partition when one of them grew.
    if (offset >= this.end) return [];
    const range = this.store.getRange({ start: offset, end: this.end, limit: recordsMax });
    const records = range.map(({ key, value }) => this.#decode(key, value));
    return within(records, bytesMax);
  }

  /** The oldest records with their times and sizes, for retention. */
  oldest(recordsMax: number): { offset: number; appendedAt: number; bytes: number }[] {
    const range = this.store.getRange({ end: this.end - 1, limit: recordsMax });
    return Array.from(range, ({ key, value }) => ({
      offset: key,
      appendedAt: Number(value.readBigUInt64BE(0)),
      bytes: value.length,
    }));
  }

  #decode(offset: number, stored: Buffer): LogRecord {
    const valueAt = headBytes + stored.readUInt16BE(8);
    return {
      topic: this.topic,
      partition: this.number,
      offset: BigInt(offset),
      key: stored.toString("utf8", headBytes, valueAt),
      value: stored.subarray(valueAt),
    };
  }
}

/** Before a commit, which an exception would leave half written. */
export function assertKey(key: string): void {
  const bytes = Buffer.byteLength(key);
  assert(bytes <= keyBytesMax, `a key of ${bytes} bytes`);
}

function encode(record: NewRecord, now: number): Buffer {
  const key = Buffer.from(record.key, "utf8");
  const head = Buffer.alloc(headBytes);
  head.writeBigUInt64BE(BigInt(now), 0);
  head.writeUInt16BE(key.length, 8);
  return Buffer.concat([head, key, record.value]);
}

/** Below it the log's disk counts as full, and calls are refused. */
const logFreeBytesMin = 16 * 1024 * 1024;

interface Write<T> {
  /** Put and removed; default: one. */
  readonly records?: number;
  /** Put; default: next to none. */
  readonly bytes?: number;
  /** Puts and removes while the transaction is open; the caller gets the result once durable. */
  readonly apply: () => T;
}

interface Waiting extends Required<Write<void>> {
  settle(error: LogUnavailable | null): void;
}

/**
 * Group commit: all waiting records go into one LMDB transaction, synced to disk, then the next.
 * One at a time, so that a failed transaction leaves no gap in the offsets.
 */
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
  write<T>({ records = 1, bytes = 0, apply }: Write<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new LogUnavailable("the log is closed");
      if (this.#waitingBytes + bytes > this.pendingBytesMax) {
        throw new LogUnavailable("too many records wait to be written to the log");
      }
      let result: { value: T } | undefined;
      this.#waitingBytes += bytes;
      this.#waiting.push({
        records,
        bytes,
        apply: () => void (result = { value: apply() }),
        settle(error) {
          if (result && !error) resolve(result.value);
          else reject(error ?? new Error("committed without being applied"));
        },
      });
      this.#running ??= this.#run();
    });
  }

  remove({ store }: Partition, offsets: readonly number[]): Promise<void> {
    return this.write({
      records: offsets.length,
      apply: () => {
        for (const offset of offsets) void store.remove(offset);
      },
    });
  }

  /**
   * After a failed commit another is tried, with nothing but `put`.
   * @throws LogUnavailable when nothing can be written now
   */
  async check(put: () => void): Promise<void> {
    if (this.#isDiskFull()) throw this.#diskFull();
    if (this.#hasFailed) await this.write({ apply: put });
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
