/**
 * Collects look-ups that are requested one by one at the same time, and answers them by few
 * statements.
 */
import { chunksBySize } from "./lists.js";

interface Asked<Answer> {
  readonly key: string;
  readonly settle: (answer: Answer | Promise<never>) => void;
}

export class AskedTogether<Answer> {
  #asked: Asked<Answer>[] = [];

  /** @param look of `keysMax` keys at most; answers by key */
  constructor(
    private readonly keysMax: number,
    private readonly look: (keys: readonly string[]) => Promise<(key: string) => Answer>,
  ) {}

  /** Joins the look-ups that are requested in the same turn of the event loop. */
  ask(key: string): Promise<Answer> {
    return new Promise((settle) => {
      this.#asked.push({ key, settle });
      if (this.#asked.length === 1) queueMicrotask(() => void this.#lookAll());
    });
  }

  async #lookAll(): Promise<void> {
    const all = this.#asked;
    this.#asked = [];
    for (const some of chunksBySize(all, this.keysMax, () => 1)) {
      try {
        const answer = await this.look(some.map(({ key }) => key));
        for (const { key, settle } of some) settle(answer(key));
      } catch (error) {
        for (const { settle } of some) settle(Promise.reject(error));
      }
    }
  }
}
