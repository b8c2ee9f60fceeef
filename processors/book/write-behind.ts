/**
 * Rows that may be written a moment later: a statement costs the engine much the same for any
 * number of rows, so rows that nobody waits for are collected at a pace. The log's offset does not
 * move until they are written, so after a crash they are made again.
 */
import type { Pace } from "../../runtime/pace.js";

export class WriteBehind<Rows> {
  #waiting: Rows[] = [];
  #next: Promise<void> | null = null;
  #running: Promise<void> = Promise.resolve();

  /**
   * @param write one at a time; if it fails, the callers that added the rows get the error and add
   * them again
   */
  constructor(
    private readonly write: (rows: readonly Rows[]) => Promise<void>,
    private readonly pace: Pace,
  ) {}

  /** Resolves when the rows are written, with all that was added since the last write. */
  add(rows: Rows): Promise<void> {
    this.#waiting.push(rows);
    this.#next ??= this.#later();
    return this.#next;
  }

  #later(): Promise<void> {
    this.#running = this.#writeAfter(this.#running);
    return this.#running;
  }

  async #writeAfter(before: Promise<void>): Promise<void> {
    await before.catch(() => undefined);
    await this.pace.turn();
    const rows = this.#waiting;
    this.#waiting = [];
    this.#next = null;
    const began = performance.now();
    try {
      await this.write(rows);
    } finally {
      this.pace.ended(performance.now() - began);
    }
  }

  /** Resolves when all that was added before is written, or has failed. */
  async settled(): Promise<void> {
    this.pace.hurry();
    await (this.#next ?? this.#running).catch(() => undefined);
  }
}
