/**
 * Whatever is acquired registers its release on the same line. (The idea is graphile-worker's
 * `withReleasers`.)
 */
import type { Logger } from "./logger.js";

export class Releases {
  readonly #stack: { name: string; release: () => Promise<void> | void }[] = [];
  #running: Promise<void> | undefined;

  constructor(private readonly logger: Logger) {}

  push(name: string, release: () => Promise<void> | void): void {
    this.#stack.push({ name, release });
  }

  /** Works until the release, which stops it and waits for its end. */
  run(name: string, work: (stop: AbortSignal) => Promise<unknown>): void {
    const stopping = new AbortController();
    const ended = work(stopping.signal);
    this.push(name, async () => {
      stopping.abort();
      await ended;
    });
  }

  /**
   * Runs every release once, the last acquired first, even if some fail; then throws the first
   * failure. What is registered meanwhile is released, too. A second call joins the first.
   */
  release(): Promise<void> {
    this.#running ??= this.#releaseAll();
    return this.#running;
  }

  async #releaseAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let next = this.#stack.pop(); next; next = this.#stack.pop()) {
      try {
        await next.release();
        this.logger.debug({ release: next.name }, "released");
      } catch (error) {
        this.logger.error({ release: next.name, err: error }, "release failed");
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
