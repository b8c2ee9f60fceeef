import type { LogRecord } from "../stores/log/log.js";

/**
 * Lets batches overlap: the next starts while earlier ones wait for answers, so that a slow API
 * delays only its own events. The group's offset follows the slowest; after a crash they are
 * handled again (`Log.consume`, finished).
 */
export class ConcurrencyWindow {
  readonly #max: Size;
  #records = 0;
  #bytes = 0;
  #waiting: (() => void)[] = [];

  /** @param max beyond so many records or bytes the next batch waits for one to end */
  constructor(max: Size) {
    this.#max = max;
  }

  async begin(
    records: readonly LogRecord[],
    work: () => Promise<void>,
  ): Promise<{ readonly finished: Promise<void> }> {
    while (this.#records >= this.#max.records || this.#bytes >= this.#max.bytes) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return { finished: this.#run(records, work) };
  }

  async #run(records: readonly LogRecord[], work: () => Promise<void>): Promise<void> {
    const bytes = records.reduce((sum, { value }) => sum + value.length, 0);
    this.#records += records.length;
    this.#bytes += bytes;
    try {
      await work();
    } finally {
      this.#records -= records.length;
      this.#bytes -= bytes;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const wake of waiting) wake();
    }
  }
}

interface Size {
  readonly records: number;
  readonly bytes: number;
}
