/** What is done with one lane of the outbox is done one after the other; lanes go side by side. */
import type { RowLane } from "./state.js";

export class LaneTurns {
  readonly #last = new Map<RowLane, Promise<unknown>>();

  /** Begins when all that came before it in this lane has ended, however that ended. */
  take<T>(lane: RowLane, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(lane) ?? Promise.resolve()).then(work);
    this.#last.set(
      lane,
      turn.catch(() => undefined),
    );
    return turn;
  }
}
