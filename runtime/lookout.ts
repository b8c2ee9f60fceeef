/**
 * How often a store is searched for work that is mostly absent: often while there is some or news
 * of it, else rarely. Other processes' news is not announced here, so beside them it is always
 * often.
 */
import { setTimeout as pause } from "node:timers/promises";

/** Announces work inside this process to all who look for it. */
export class News {
  count = 0;
  readonly #waiting = new Set<() => void>();

  announce(): void {
    this.count += 1;
    for (const wake of this.#waiting) wake();
  }

  /** Calls `wake` at each announcement; returns what ends that. */
  listen(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => void this.#waiting.delete(wake);
  }
}

export interface LookoutOptions {
  readonly everyMs: number;
  readonly calmEveryMs: number;
}

/** How long it looks often after the last news or work. */
const busyMs = 15_000;

export class Lookout {
  #seen = 0;
  #busyUntil = 0;

  constructor(
    private readonly news: News,
    private readonly options: LookoutOptions,
    /** ms by a clock that is never set */
    private readonly elapsed = () => performance.now(),
  ) {
    this.found();
  }

  /** There was work, so more may follow. */
  found(): void {
    this.#busyUntil = this.elapsed() + busyMs;
  }

  /**
   * Works at each look until `stop` is aborted.
   * @param work returns whether more may follow soon, or that it does: then there is no rest
   */
  async watch(
    stop: AbortSignal,
    work: () => Promise<boolean | "more">,
    failed: (error: unknown) => void,
  ): Promise<void> {
    while (!stop.aborted) {
      try {
        const found = await work();
        if (found !== false) this.found();
        if (found === "more") continue;
      } catch (error) {
        if (!stop.aborted) failed(error);
      }
      await this.rest(stop);
    }
  }

  /** Until it is time to look again; ends when `stop` is aborted. */
  async rest(stop: AbortSignal): Promise<void> {
    if (this.news.count !== this.#seen) this.found();
    this.#seen = this.news.count;
    const isBusy = this.elapsed() < this.#busyUntil;
    const over = new AbortController();
    const end = (): void => over.abort();
    const unlisten = isBusy ? () => undefined : this.news.listen(end);
    stop.addEventListener("abort", end);
    if (stop.aborted) end();
    const { everyMs, calmEveryMs } = this.options;
    const ms = isBusy ? everyMs : calmEveryMs;
    await pause(ms, undefined, { signal: over.signal }).catch(() => undefined);
    stop.removeEventListener("abort", end);
    unlisten();
  }
}
