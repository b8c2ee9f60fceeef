/**
 * The receipt clock and `complete_to`: the receipt time up to which everything taken has been
 * booked. A receipt time is never at or before a reported `complete_to`, so an answer "as known at
 * T" is final. Events that are not booked yet are searched in the order they travel (in flight, on
 * the raw topic, on the facts topic), so that none can move past the search.
 */
import { LRUCache } from "lru-cache";
import {
  type Topic,
  factReceipts,
  incompleteRecords,
  readRawEventMeta,
  topics,
} from "../../schemas/records/records.js";
import { Backlog, type ReadableLog, type Waits } from "./backlog.js";
import { type InFlightReceipts, LocalReceipts, type Receipt } from "./in-flight-receipts.js";
import type { LogRecord } from "../log/log.js";

const reportedMomentsMax = 10_000;

/**
 * The consumer groups. The figures of an event are complete when all groups passed it but the
 * journal, `webhooks`, and `enrich`, whose facts are received when they are answered.
 */
export const groups = {
  journal: "journal",
  normalize: "normalize",
  complete: "complete",
  enrich: "enrich",
  book: "book",
  webhooks: "webhooks",
} as const;

/** Which group follows which topic, in the order an event travels. */
export const passages: readonly (readonly [Topic, string])[] = [
  [topics.raw, groups.normalize],
  [topics.raw, groups.journal],
  [topics.incomplete, groups.complete],
  [topics.incomplete, groups.enrich],
  [topics.facts, groups.book],
];

/** And the groups that follow what was booked, for which no figure waits. */
export const groupsByTopic: typeof passages = [
  ...passages,
  [topics.transactions, groups.webhooks],
  [topics.movements, groups.webhooks],
  [topics.rejected, groups.webhooks],
];

/**
 * Transactions are written first; all else within three seconds, or at once on request. `journaled`
 * waits for the journal too, which is slower: for callers that ask which event a figure came from.
 */
export type Figures = "transactions" | "all" | "journaled";

export class Watermark {
  /** The consumers that the figures have to pass, in the order an event does. */
  readonly #passages: Readonly<Record<Figures, readonly Backlog[]>>;
  readonly #behind: ((figures: Figures) => void)[] = [];
  readonly #reported = {
    transactions: new ReportedMoments(),
    all: new ReportedMoments(),
    journaled: new ReportedMoments(),
  };

  /** @param receipts of all processes over the log; default: its own */
  constructor(
    log: ReadableLog,
    now: () => number = Date.now,
    private readonly receipts: InFlightReceipts = new LocalReceipts(now),
  ) {
    const normalized = [
      new Backlog(log, topics.raw, groups.normalize, rawWaits),
      new Backlog(log, topics.incomplete, groups.complete, incompleteWaits),
    ];
    const shown = new Backlog(log, topics.facts, groups.book, factWaits, "handled");
    const written = new Backlog(log, topics.facts, groups.book, factWaits);
    const journaled = new Backlog(log, topics.raw, groups.journal, rawWaits);
    this.#passages = {
      transactions: [...normalized, shown],
      all: [...normalized, written],
      journaled: [...normalized, written, journaled],
    };
  }

  /**
   * Stamps a call; until `settle`, `complete_to` stays below its time.
   * @param workspace whose `complete_to`; left out: that of all of them
   * @param notBefore ms since 1970, where it has to come after something received before
   * @throws PostgresUnavailable when several processes share the log and it cannot be promised
   */
  receive(workspace?: string, notBefore = 0): Receipt {
    const reported = Math.max(...Object.values(this.#reported).map(({ latest }) => latest));
    return this.receipts.receive(Math.max(notBefore, reported + 1), workspace);
  }

  /**
   * To be called right before what was stamped goes to the log.
   * @throws PostgresUnavailable when this process was silent for so long that others went on
   */
  check(receivedAt: number): void {
    this.receipts.check(receivedAt);
  }

  /** @param listener called when somebody waits for figures that are not complete yet */
  onBehind(listener: (figures: Figures) => void): void {
    this.#behind.push(listener);
  }

  /** Somebody waits for booked figures to be shown. */
  hurry(figures: Figures): void {
    for (const listener of this.#behind) listener(figures);
  }

  get callsInFlight(): number {
    return this.receipts.calls;
  }

  /**
   * ms since 1970; everything received up to then (inclusive) is booked, rejected or ignored, as
   * far as `figures` go. Never goes back.
   * @param workspace whose figures are reported; left out: of all of them
   */
  async completeTo(figures: Figures = "all", workspace?: string): Promise<number> {
    const received = (await this.receipts.earliest(workspace)) - 1;
    let complete = received;
    for (const backlog of this.#passages[figures]) {
      complete = Math.min(complete, (await backlog.earliestWaiting(workspace)) - 1);
    }
    if (complete < received) this.hurry(figures);
    // A call stamped meanwhile is later than everything found.
    return this.#reported[figures].report(workspace ?? everyone, complete);
  }
}

/** No workspace has an empty id. */
const everyone = "";

class ReportedMoments {
  readonly #moments = new LRUCache<string, number>({ max: reportedMomentsMax });
  latest = 0;

  /**
   * @returns `moment`, or a later one that was reported before, because a group that is set back
   *   reports less. Beyond `reportedMomentsMax` the least recently used is forgotten.
   */
  report(whom: string, moment: number): number {
    const reported = Math.max(this.#moments.get(whom) ?? 0, moment);
    this.#moments.set(whom, reported);
    this.latest = Math.max(this.latest, reported);
    return reported;
  }
}

function rawWaits({ value }: LogRecord): Waits {
  const { received_at: receivedAt, workspace } = readRawEventMeta(value).meta;
  return { receivedAt, workspace };
}

function factWaits({ value }: LogRecord): Waits {
  const { received_at: receivedAt, workspace } = factReceipts.decode(value);
  return { receivedAt, workspace };
}

function incompleteWaits({ value }: LogRecord): Waits {
  const { step, received_at: receivedAt, raw } = incompleteRecords.decode(value);
  if (step !== "complete") return { receivedAt: Number.POSITIVE_INFINITY };
  return { receivedAt, workspace: readRawEventMeta(raw).meta.workspace };
}
