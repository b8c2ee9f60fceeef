/**
 * The receipt clock and `complete_to`: the receipt time up to which everything taken has been
 * booked. The door stamps with it, answers carry it.
 *
 * A receipt time is never at or before a `complete_to` already told, so an answer "as known at T"
 * is final. What is not booked yet is looked for in the order an event travels (at the door, on
 * the raw topic, on the facts topic), so that none can slip from behind the look to before it.
 */
import { factCodec, incompleteCodec, rawEventCodec, topics } from "../schemas/records.js";
import { Backlog, type ReadableLog } from "./backlog.js";
import type { LogRecord } from "./log.js";

export interface Receipt {
  /** ms since 1970 */
  readonly receivedAt: number;
  /** The call was not taken, or its record is in the log. */
  settle(): void;
}

/**
 * The consumer groups; the figures of an event are complete when all passed it but the journal and
 * `adorn`, whose facts are received when they are answered.
 */
export const groups = {
  journal: "journal",
  normalize: "normalize",
  complete: "complete",
  adorn: "adorn",
  money: "book-money",
  subscriptions: "book-subscriptions",
} as const;

/**
 * Transactions are written first; the ledger follows a moment later, and MRR, which takes the
 * engine longer, within a second.
 */
export type Figures = "transactions" | "money" | "all";

export class Watermark {
  /** By what is asked for: the consumers it has to pass, in the order an event does. */
  readonly #passages: Readonly<Record<Figures, readonly Backlog[]>>;
  readonly #now: () => number;
  readonly #atTheDoor = new Map<symbol, number>();
  readonly #told: Record<Figures, number> = { transactions: 0, money: 0, all: 0 };

  constructor(log: ReadableLog, now: () => number = Date.now) {
    const normalized = [
      new Backlog(log, topics.raw, groups.normalize, rawReceivedAt),
      new Backlog(log, topics.incomplete, groups.complete, incompleteReceivedAt),
    ];
    const written = new Backlog(log, topics.facts, groups.money, factReceivedAt, "handled");
    const money = new Backlog(log, topics.facts, groups.money, factReceivedAt);
    const subscriptions = new Backlog(log, topics.facts, groups.subscriptions, factReceivedAt);
    this.#passages = {
      transactions: [...normalized, written],
      money: [...normalized, money],
      all: [...normalized, money, subscriptions],
    };
    this.#now = now;
  }

  /** Stamps a call; until `settle`, `complete_to` stays below its time. */
  receive(): Receipt {
    const receivedAt = Math.max(this.#now(), ...Object.values(this.#told).map((told) => told + 1));
    const token = Symbol();
    this.#atTheDoor.set(token, receivedAt);
    return { receivedAt, settle: () => this.#atTheDoor.delete(token) };
  }

  /** Calls that are being taken now. */
  get callsAtTheDoor(): number {
    return this.#atTheDoor.size;
  }

  /**
   * ms since 1970; everything received up to then (inclusive) is booked, rejected or ignored, as
   * far as `figures` go. Never goes back.
   */
  async completeTo(figures: Figures = "all"): Promise<number> {
    let complete = Math.min(this.#now(), ...this.#atTheDoor.values()) - 1;
    for (const backlog of this.#passages[figures]) {
      complete = Math.min(complete, (await backlog.earliestWaiting()) - 1);
    }
    // A call stamped while this looked is later than all that has been found.
    this.#told[figures] = Math.max(this.#told[figures], complete);
    return this.#told[figures];
  }
}

function rawReceivedAt(record: LogRecord): number {
  return rawEventCodec.decode(record.value).meta.received_at;
}

function factReceivedAt(record: LogRecord): number {
  return factCodec.decode(record.value).received_at;
}

function incompleteReceivedAt(record: LogRecord): number {
  const { step, received_at: receivedAt } = incompleteCodec.decode(record.value);
  return step === "complete" ? receivedAt : Number.POSITIVE_INFINITY;
}
