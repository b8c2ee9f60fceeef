/**
 * What a consumer group has still to handle of a topic, by receipt time. Each record is looked at
 * once, however often it is asked for, so that asking costs little even far behind.
 */
import type { Topic } from "../schemas/records.js";
import type { Log, LogRecord } from "./log.js";

/** What of the log is looked at. */
export type ReadableLog = Pick<Log, "committed" | "ends" | "handled" | "read">;

/** Records read at a time; between them others get their turn. */
const recordsAtOnce = 1_000;

export class Backlog {
  readonly #log: ReadableLog;
  readonly #topic: Topic;
  readonly #group: string;
  readonly #receivedAt: (record: LogRecord) => number;
  readonly #passed: "committed" | "handled";
  readonly #partitions: Waiting[] = [];
  #looking: Promise<number> | null = null;
  #next: Promise<number> | null = null;

  /** @param passed which offset of the group a record must lie before, not to wait any more */
  constructor(
    log: ReadableLog,
    topic: Topic,
    group: string,
    receivedAt: (record: LogRecord) => number,
    passed: "committed" | "handled" = "committed",
  ) {
    this.#log = log;
    this.#topic = topic;
    this.#group = group;
    this.#receivedAt = receivedAt;
    this.#passed = passed;
  }

  /**
   * ms since 1970; Infinity when nothing waits. One look at a time; those who ask meanwhile share
   * the next one, because the running one may have begun before what they ask for.
   */
  earliestWaiting(): Promise<number> {
    if (this.#next !== null) return this.#next;
    if (this.#looking === null) return this.#lookNow();
    const again = (): Promise<number> => this.#lookNow();
    this.#next = this.#looking.then(again, again);
    return this.#next;
  }

  #lookNow(): Promise<number> {
    this.#next = null;
    const looking = this.#look().finally(() => {
      if (this.#looking === looking) this.#looking = null;
    });
    this.#looking = looking;
    return looking;
  }

  async #look(): Promise<number> {
    // In this order: what other processes append and handle meanwhile is then seen as waiting.
    const offsets = await this.#log[this.#passed](this.#topic, this.#group);
    const ends = await this.#log.ends(this.#topic);
    let earliest = Number.POSITIVE_INFINITY;
    for (const [partition, handled] of offsets.entries()) {
      const waiting = (this.#partitions[partition] ??= new Waiting());
      waiting.forget(handled);
      for (let end = ends[partition] ?? 0n; waiting.next < end;) {
        const records = await this.#log.read(this.#topic, partition, waiting.next, recordsAtOnce);
        // Retention may have taken what was not handled: then there is nothing to wait for.
        if (records.length === 0) break;
        for (const record of records) waiting.add(record.offset, this.#receivedAt(record));
      }
      earliest = Math.min(earliest, waiting.earliest());
    }
    return earliest;
  }
}

/**
 * The receipt times of one partition's waiting records, as a queue whose front is the earliest:
 * records lie nearly, not exactly, in the order of receipt, and one that has a later, earlier
 * received one behind it can never be the earliest again.
 */
class Waiting {
  next = 0n;
  #handled = 0n;
  #front = 0;
  #queue: { readonly offset: bigint; readonly receivedAt: number }[] = [];

  add(offset: bigint, receivedAt: number): void {
    let last = this.#queue.at(-1);
    while (last && this.#queue.length > this.#front && last.receivedAt >= receivedAt) {
      this.#queue.pop();
      last = this.#queue.at(-1);
    }
    this.#queue.push({ offset, receivedAt });
    this.next = offset + 1n;
  }

  /** Those before `handled` wait no more. A group that was set back waits anew. */
  forget(handled: bigint): void {
    if (handled < this.#handled) {
      this.#queue = [];
      this.#front = 0;
      this.next = handled;
    }
    this.#handled = handled;
    while ((this.#queue[this.#front]?.offset ?? handled) < handled) this.#front += 1;
    if (this.#front > compactAfter) {
      this.#queue = this.#queue.slice(this.#front);
      this.#front = 0;
    }
    if (this.next < handled) this.next = handled;
  }

  earliest(): number {
    return this.#queue[this.#front]?.receivedAt ?? Number.POSITIVE_INFINITY;
  }
}

const compactAfter = 10_000;
