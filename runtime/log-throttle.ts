/**
 * Limits log lines for errors that many calls share, for example while a server is unavailable: one
 * line per interval.
 */
export class LogThrottle {
  readonly #reported = new Map<string, { readonly at: number; suppressed: number }>();

  /** @param elapsed ms by a clock that is never set */
  constructor(
    private readonly everyMs: number = reportEveryMs,
    private readonly elapsed: () => number = () => performance.now(),
  ) {}

  /**
   * @param what one of a few kinds
   * @returns how many were not logged since the last one; null: this one is not to be logged either
   */
  turn(what: string): number | null {
    const now = this.elapsed();
    const last = this.#reported.get(what);
    if (last !== undefined && now - last.at < this.everyMs) {
      last.suppressed += 1;
      return null;
    }
    this.#reported.set(what, { at: now, suppressed: 0 });
    return last?.suppressed ?? 0;
  }
}

const reportEveryMs = 10_000;
