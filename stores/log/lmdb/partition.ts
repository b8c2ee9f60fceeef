/** One partition of a topic in LMDB: offset → append time, key and value, in one named store. */
import assert from "node:assert";
import type { Database } from "lmdb";
import type { Topic } from "../../../schemas/records/records.js";
import type { LogRecord, NewRecord } from "../log.js";
import { within } from "../partition-consumer.js";
import { Arrivals } from "../subscriptions.js";

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
