/**
 * Caches answers of providers' APIs for further events, bounded in number, size and time.
 * Concurrent callers share a call, except for data that changes with every event: a call made
 * before an event may be answered without it. If the call ended because its first caller's time was
 * over, the others do not share that end: they have their own time.
 */
import { LRUCache } from "lru-cache";
import type { Asked } from "./integration-client.js";

/** What an API does not have it may have soon: a product just made, a right just given. */
export const absentFreshMsMax = 60_000;

export class FreshAnswers {
  readonly #kept: LRUCache<string, { readonly asked: Asked; readonly until: number }>;
  readonly #asking = new Map<string, Asking>();
  readonly #bytesMax: number;
  readonly #clock: () => number;

  constructor(options: {
    readonly entriesMax: number;
    readonly bytesMax: number;
    /** ms by a clock that is never set */
    readonly clock?: () => number;
  }) {
    this.#kept = new LRUCache({ max: options.entriesMax });
    this.#bytesMax = options.bytesMax;
    this.#clock = options.clock ?? (() => performance.now());
  }

  /**
   * @param signal of this caller, by which `ask` ends
   * @param ask never rejects
   */
  async get(
    integration: string,
    { name: question, freshForMs }: { readonly name: string; readonly freshForMs: number },
    signal: AbortSignal,
    ask: () => Promise<Asked>,
  ): Promise<Asked> {
    if (freshForMs <= 0) return ask();
    const name = `${integration} ${question}`;
    const kept = this.#kept.get(name);
    if (kept !== undefined && kept.until > this.#clock()) return kept.asked;
    const begun = this.#asking.get(name);
    if (begun !== undefined) {
      const shared = await begun.asked;
      if (shared.outcome !== "trouble" || !begun.signal.aborted || signal.aborted) return shared;
    }
    const asking = { asked: ask(), signal };
    this.#asking.set(name, asking);
    try {
      const answer = await asking.asked;
      this.#keep(name, answer, freshForMs);
      return answer;
    } finally {
      if (this.#asking.get(name) === asking) this.#asking.delete(name);
    }
  }

  #keep(name: string, asked: Asked, freshForMs: number): void {
    if (asked.outcome !== "answered" || (asked.text?.length ?? 0) > this.#bytesMax) return;
    const ms = asked.text === null ? Math.min(freshForMs, absentFreshMsMax) : freshForMs;
    this.#kept.set(name, { asked, until: this.#clock() + ms });
  }
}

interface Asking {
  readonly asked: Promise<Asked>;
  /** Of who asked first. */
  readonly signal: AbortSignal;
}
