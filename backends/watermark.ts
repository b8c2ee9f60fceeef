/**
 * The receipt clock and `complete_to`: the receipt time up to which everything taken has been
 * booked. The door stamps with it, answers carry it.
 *
 * A receipt time is never at or before a `complete_to` already told, so an answer "as known at T"
 * is final. What is not booked yet is looked for in the order an event travels (at the door, on
 * the raw topic, on the facts topic), so that none can slip from behind the look to before it.
 */
import { factCodec, rawEventCodec, topics } from "../schemas/records.js";
import { Backlog, type ReadableLog } from "./backlog.js";
import type { LogRecord } from "./log.js";

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

export class Watermark {
  readonly #passages: readonly Backlog[];
  readonly #now: () => number;
  readonly #atTheDoor = new Map<symbol, number>();
  #told = 0;

  constructor(log: ReadableLog, now: () => number = Date.now) {
    this.#passages = [
      new Backlog(log, topics.raw, groups.normalize, rawReceivedAt),
      new Backlog(log, topics.facts, groups.money, factReceivedAt),
      new Backlog(log, topics.facts, groups.subscriptions, factReceivedAt),
    ];
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
    for (const backlog of this.#passages) {
      complete = Math.min(complete, (await backlog.earliestWaiting()) - 1);
    }
    // Calls stamped while this looked are above what had been told before, not above this.
    for (const receivedAt of this.#atTheDoor.values())
      complete = Math.min(complete, receivedAt - 1);
    this.#told = Math.max(this.#told, complete);
    return this.#told;
  }
}

function rawReceivedAt(record: LogRecord): number {
  return rawEventCodec.decode(record.value).meta.received_at;
}

function factReceivedAt(record: LogRecord): number {
  return factCodec.decode(record.value).received_at;
}
