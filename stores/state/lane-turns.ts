/** Work on one lane of the outbox runs in sequence; lanes run side by side. */
import type { RowLane } from "./state.js";

export class LaneTurns {
  readonly #last = new Map<RowLane, Promise<unknown>>();

  /** Begins when all earlier work in this lane has ended, successful or not. */
  take<T>(lane: RowLane, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(lane) ?? Promise.resolve()).then(work);
    this.#last.set(
      lane,
      turn.catch(() => undefined),
    );
    return turn;
  }
}
