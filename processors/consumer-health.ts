/** Whether a consumer makes progress, for `/readyz`. */
import { limits } from "../config.js";
import { NotReady } from "../runtime/readiness.js";

/** A failed batch comes again after `retryPauseMsMax` at most; doubled to be sure. */
const againMsMax = 2 * limits.retryPauseMsMax;

/**
 * A consumer whose last batch failed is not ready. If the batch does not come again, another member
 * handles its partition, and this one is well.
 */
export class ConsumerHealth {
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  #running = 0;

  /** @param elapsed ms by a clock that is never set */
  constructor(private readonly elapsed: () => number = () => performance.now()) {}

  async watch<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#running += 1;
    try {
      const result = await work();
      this.#failure = null;
      return result;
    } catch (error) {
      this.#failure = { error, at: this.elapsed() };
      throw error;
    } finally {
      this.#running -= 1;
    }
  }

  /** @throws while the last batch has failed and is tried again */
  check(): void {
    if (this.#failure === null) return;
    const { error, at } = this.#failure;
    if (this.#running === 0 && this.elapsed() - at > againMsMax) return;
    throw new NotReady("the last batch failed", { cause: error });
  }
}
