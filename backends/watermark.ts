/**
 * The receipt clock and `complete_to`: the receipt time up to which everything taken has been
 * booked. The door stamps with it, answers carry it.
 *
 * A receipt time is never at or before a `complete_to` already told, so an answer "as known at T"
 * is final. What is not booked yet is looked for in the order an event travels (at the door, on
 * the raw topic, on the facts topic), so that none can slip from behind the look to before it.
 */
import { factCodec, rawEventCodec, topics } from "../schemas/records.js";
import type { Log, LogRecord } from "./log.js";

export interface Receipt {
  /** ms since 1970 */
  readonly receivedAt: number;
  /** The call was not taken, or its record is in the log. */
  settle(): void;
}

/** The consumer groups an event passes, with what they read. */
export const groups = {
  normalize: "normalize",
  money: "book-money",
  subscriptions: "book-subscriptions",
} as const;

const passages = [
  { topic: topics.raw, group: groups.normalize, receivedAt: rawReceivedAt },
  { topic: topics.facts, group: groups.money, receivedAt: factReceivedAt },
  { topic: topics.facts, group: groups.subscriptions, receivedAt: factReceivedAt },
] as const;

/** More waiting records than this in one partition and `complete_to` stands still. */
const waitingRecordsMax = 2_000;

export class Watermark {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #atTheDoor = new Map<symbol, number>();
  #told = 0;

  constructor(log: Log, now: () => number = Date.now) {
    this.#log = log;
    this.#now = now;
  }

  /** Stamps a call; until `settle`, `complete_to` stays below its time. */
  receive(): Receipt {
    const receivedAt = Math.max(this.#now(), this.#told + 1);
    const token = Symbol();
    this.#atTheDoor.set(token, receivedAt);
    return { receivedAt, settle: () => this.#atTheDoor.delete(token) };
  }

  /**
   * ms since 1970; everything received up to then (inclusive) is booked, rejected or ignored.
   * Never goes back.
   */
  async completeTo(): Promise<number> {
    let complete = this.#now() - 1;
    for (const receivedAt of this.#atTheDoor.values())
      complete = Math.min(complete, receivedAt - 1);
    for (const passage of passages) complete = Math.min(complete, await this.#passed(passage));
    // Calls stamped while this looked are above what had been told before, not above this.
    for (const receivedAt of this.#atTheDoor.values())
      complete = Math.min(complete, receivedAt - 1);
    this.#told = Math.max(this.#told, complete);
    return this.#told;
  }

  async #passed({ topic, group, receivedAt }: (typeof passages)[number]): Promise<number> {
    const [committed, ends] = await Promise.all([
      this.#log.committed(topic, group),
      this.#log.ends(topic),
    ]);
    let passed = Number.POSITIVE_INFINITY;
    for (const [partition, offset] of committed.entries()) {
      if (offset >= (ends[partition] ?? 0n)) continue;
      const waiting = await this.#log.read(topic, partition, offset, waitingRecordsMax);
      // Records lie nearly, not exactly, in the order of receipt: a slow raw partition hands on
      // late. So all that wait are looked at; with too many of them nothing is claimed.
      if (waiting.length === waitingRecordsMax) return this.#told;
      for (const record of waiting) passed = Math.min(passed, receivedAt(record) - 1);
    }
    return passed;
  }
}

function rawReceivedAt(record: LogRecord): number {
  return rawEventCodec.decode(record.value).meta.received_at;
}

function factReceivedAt(record: LogRecord): number {
  return factCodec.decode(record.value).received_at;
}
