/**
 * Finds the one event that makes a partition's batches fail. A batch that failed twice is halved
 * again and again until a single record fails, which is passed over (`ConsumeOptions.passOver`).
 * Kept in memory only, because the parts that succeeded have moved the group's offset.
 */
import type { LogRecord } from "./log.js";

const batchTriesMax = 2;
const recordTriesMax = 4;

/** What a failure means: handle the same again, use smaller batches, or pass over one record. */
export type Verdict = "again" | "halved" | "found";

export interface Found {
  readonly record: LogRecord;
  readonly error: unknown;
}

export class Suspects {
  /** Offsets where a batch has to end, the nearest last; the first is the end of what failed. */
  #ends: bigint[] = [];
  /** A record of that stretch was found: the others are known to succeed without it. */
  #hasFound = false;
  #failedAt: bigint | null = null;
  #tries = 0;
  #found: Found | null = null;

  /** The record to pass over first, while the group stands at it. */
  foundAt(offset: number): Found | null {
    this.#forgetBelow(BigInt(offset));
    if (this.#found !== null && Number(this.#found.record.offset) !== offset) this.#found = null;
    return this.#found;
  }

  /** As many of the first of these as may be handled together. */
  among(records: readonly LogRecord[]): readonly LogRecord[] {
    const [first] = records;
    if (first === undefined) return records;
    // Those before it may still fail to finish, so their ends stay.
    const end = this.#ends.findLast((one) => one > first.offset);
    if (end === undefined) return records;
    return records.filter(({ offset }) => offset < end);
  }

  /** @param records handled together, for which no store is to blame */
  failed(records: readonly LogRecord[], error: unknown): Verdict {
    const [first, last] = [records[0], records.at(-1)];
    const middle = records[Math.ceil(records.length / 2)];
    if (first === undefined || last === undefined) return "again";
    this.#forgetBelow(first.offset);
    this.#tries = first.offset === this.#failedAt ? this.#tries + 1 : 1;
    this.#failedAt = first.offset;
    if (middle === undefined) {
      if (this.#tries < recordTriesMax && !this.#hasFound) return "again";
      this.#found = { record: first, error };
      this.#hasFound = true;
      return "found";
    }
    const isHalf = this.#ends.length > 0;
    if (!isHalf && this.#tries < batchTriesMax) return "again";
    if (!isHalf) this.#ends.push(last.offset + 1n);
    this.#ends.push(middle.offset);
    this.#tries = 0;
    return "halved";
  }

  /** A store is unavailable, and may have caused the failures: all are tried again. */
  clear(): void {
    this.#ends = [];
    this.#hasFound = false;
    this.#found = null;
    this.#tries = 0;
  }

  /** What lies before is handled. */
  #forgetBelow(offset: bigint): void {
    while ((this.#ends.at(-1) ?? offset + 1n) <= offset) this.#ends.pop();
    if (this.#ends.length === 0) this.#hasFound = false;
  }
}
