/**
 * Lets batches overlap: the next is taken while earlier ones wait for answers, so that a slow API
 * holds up its own events only. The group's offset moves behind the slowest; after a crash they are
 * asked again (`Log.consume`, finished).
 */
export class Overlapping {
  readonly #recordsMax: number;
  #records = 0;
  #waiting: (() => void)[] = [];

  /** @param recordsMax beyond which the next batch waits for one to end */
  constructor(recordsMax: number) {
    this.#recordsMax = recordsMax;
  }

  async begin(
    records: number,
    work: () => Promise<void>,
  ): Promise<{ readonly finished: Promise<void> }> {
    while (this.#records >= this.#recordsMax) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#records += records;
    return { finished: this.#run(records, work) };
  }

  async #run(records: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      this.#records -= records;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const wake of waiting) wake();
    }
  }
}
