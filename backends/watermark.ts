/**
 * The receipt clock and `complete_to`: the receipt time up to which everything taken has been
 * booked. One object per process; the door stamps with it, the processors report to it.
 *
 * A receipt time is never at or before a `complete_to` already told, so an answer "as known at T"
 * is final.
 */
export interface Receipt {
  /** ms since 1970 */
  readonly receivedAt: number;
  /** The call was not taken (nothing appended), or its record is now visible to the processors. */
  settle(): void;
}

export class Watermark {
  readonly #open = new Map<symbol, number>();
  #told = 0;

  constructor(private readonly now: () => number = Date.now) {}

  /** Stamps a call; until `settle`, `complete_to` stays below its time. */
  receive(): Receipt {
    const receivedAt = Math.max(this.now(), this.#told + 1);
    return { receivedAt, settle: this.hold(receivedAt) };
  }

  /** Keeps `complete_to` below `receivedAt` (work not booked yet) until the returned call. */
  hold(receivedAt: number): () => void {
    const token = Symbol();
    this.#open.set(token, receivedAt);
    return () => this.#open.delete(token);
  }

  /** ms since 1970; everything received up to then (inclusive) is booked. Never goes back. */
  completeTo(): number {
    let complete = this.now() - 1;
    for (const receivedAt of this.#open.values()) complete = Math.min(complete, receivedAt - 1);
    this.#told = Math.max(this.#told, complete);
    return this.#told;
  }
}
