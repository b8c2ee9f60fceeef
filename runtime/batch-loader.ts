/** Collects what is asked of a store one by one, and does it by few statements. */

interface Asked<Item, Answer> {
  readonly item: Item;
  readonly settle: (answer: Promise<Answer>) => void;
}

export class AskedTogether<Item, Answer> {
  #asked: Asked<Item, Answer>[] = [];
  #isRunning = false;

  /**
   * @param itemsMax of one statement
   * @param run never twice at once; returns the answer to the item at an index
   */
  constructor(
    private readonly itemsMax: number,
    private readonly run: (items: readonly Item[]) => Promise<(item: Item, at: number) => Answer>,
  ) {}

  /** Joins what is asked in the same turn of the event loop, or while a statement runs. */
  ask(item: Item): Promise<Answer> {
    return new Promise((settle) => {
      this.#asked.push({ item, settle });
      if (this.#isRunning) return;
      this.#isRunning = true;
      queueMicrotask(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    while (this.#asked.length > 0) {
      const some = this.#asked.splice(0, this.itemsMax);
      const running = this.run(some.map(({ item }) => item));
      // An answer that cannot be read fails for its own item only.
      for (const [at, { item, settle }] of some.entries()) {
        settle(running.then((answerTo) => answerTo(item, at)));
      }
      await running.catch(() => undefined);
    }
    this.#isRunning = false;
  }
}
