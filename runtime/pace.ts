/**
 * Paces work that costs much the same for little as for much, such as an insert: at once when none
 * was done lately, then so rarely that it takes no more than its share of the time. The engine
 * shares its processors with others, so a slow one is asked less often.
 */
export interface PaceOptions {
  /** The share of time the work may take, up to 1. */
  readonly shareMax: number;
  /** The share while somebody waits for its result; default: all of the time. */
  readonly hurriedShareMax?: number;
  /** Work that took long because a store was unavailable is no reason to rest long. */
  readonly restMsMax: number;
}

export class Pace {
  /** On `performance.now()`. */
  #notBefore = 0;
  #hurriedNotBefore = 0;
  #isHurried = false;
  #isClosed = false;
  readonly #sleepers = new Set<() => void>();

  constructor(private readonly options: PaceOptions) {}

  /** Resolves when it is time for the next, or when `stop` is aborted. */
  async turn(stop?: AbortSignal): Promise<void> {
    for (;;) {
      if (this.#isClosed || stop?.aborted === true) return;
      const notBefore = this.#isHurried ? this.#hurriedNotBefore : this.#notBefore;
      const ms = notBefore - performance.now();
      if (ms <= 0) return;
      await this.#sleep(ms, stop);
    }
  }

  /** To be called after each. */
  ended(tookMs: number): void {
    const { hurriedShareMax = 1, restMsMax, shareMax } = this.options;
    const now = performance.now();
    const restMs = (share: number): number => Math.min(restMsMax, tookMs / share - tookMs);
    this.#notBefore = now + restMs(shareMax);
    this.#hurriedNotBefore = now + restMs(hurriedShareMax);
    this.#isHurried = false;
  }

  /** Called when somebody waits for the next one. */
  hurry(): void {
    this.#isHurried = true;
    this.#wake();
  }

  /** Nothing waits from now on. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#sleepers) wake();
  }

  #sleep(ms: number, stop?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        stop?.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#sleepers.add(wake);
      stop?.addEventListener("abort", wake);
    });
  }
}
