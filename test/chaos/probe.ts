/** How long the figures take to be whole again after something was wrong. */
import { setTimeout as pause } from "node:timers/promises";
import { text } from "../model/readers/json.js";

const askEveryMs = 250;
/** Asked again then: what waits for a server that was away says nothing about the next call. */
const answerMsMax = 5_000;

/** Several facts of each event that a run sends in a second. */
const lagRecordsMax = 50;

interface Healed {
  readonly what: string;
  readonly at: number;
  bookedMs: number | null;
}

export interface Recovery {
  readonly what: string;
  /** Until `complete_to` reports that all received before is in the figures. */
  readonly tookMs: number;
  /** Until all on the log was booked; null: nobody reported it sooner. */
  readonly bookedMs: number | null;
}

export class Probe {
  readonly recoveries: Recovery[] = [];
  readonly #healed: Healed[] = [];
  #complete = 0;

  /**
   * @param bases every interface
   * @param needed whether one of them must have the figures, or each: others may still be faulty
   */
  constructor(
    private readonly bases: readonly string[],
    private readonly key: string,
    private readonly needed: "one" | "each",
    /** Processes that report how far the groups are behind. */
    private readonly processors: readonly string[],
  ) {}

  /** Recovered when all that was received until now is in the figures. */
  healed(what: string): void {
    this.#healed.push({ what, at: Date.now(), bookedMs: null });
  }

  /** @throws when it takes longer */
  async whenRecovered(msMax: number): Promise<void> {
    const since = Date.now();
    while (this.#healed.length > 0) {
      if (Date.now() - since > msMax) throw new Error("the figures are not whole in time");
      await pause(askEveryMs);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const completes = this.bases.map(() => 0);
    const ask = async (base: string, index: number): Promise<void> => {
      while (!signal.aborted) {
        completes[index] = await this.#ask(base);
        this.#complete = Math[this.needed === "one" ? "max" : "min"](...completes);
        this.#note();
        await pause(askEveryMs);
      }
    };
    await Promise.all([...this.bases.map(ask), this.#watchLag(signal)]);
  }

  /** What came in the last second is not behind. */
  async #watchLag(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const lags = await Promise.all(this.processors.map(lagAt));
      if (Math.max(...lags) <= lagRecordsMax) {
        for (const healed of this.#healed) healed.bookedMs ??= Date.now() - healed.at;
      }
      await pause(askEveryMs);
    }
  }

  #note(): void {
    for (const healed of this.#healed.filter(({ at }) => at <= this.#complete)) {
      this.#healed.splice(this.#healed.indexOf(healed), 1);
      const { what, at, bookedMs } = healed;
      this.recoveries.push({ what, tookMs: Date.now() - at, bookedMs });
    }
  }

  /** ms since 1970: up to when all is in the figures. */
  completeTo(): number {
    return this.#complete;
  }

  /** 0 while it does not answer. */
  async #ask(base: string): Promise<number> {
    try {
      const answer = await fetch(`${base}/v1/metrics/mrr`, {
        headers: { authorization: `Bearer ${this.key}` },
        signal: AbortSignal.timeout(answerMsMax),
      });
      const reported: unknown = await answer.json();
      return Date.parse(text(reported, "complete_to") ?? "1970-01-01T00:00:00Z");
    } catch {
      return 0;
    }
  }
}

/** Of the group that is most behind; infinite where it is not reported. */
async function lagAt(base: string): Promise<number> {
  try {
    const answer = await fetch(`${base}/metrics`, { signal: AbortSignal.timeout(answerMsMax) });
    const lags = [...(await answer.text()).matchAll(/^revenue_consumer_lag_records\{.* (\d+)$/gm)];
    return lags.length === 0 ? Infinity : Math.max(...lags.map(([, records]) => Number(records)));
  } catch {
    return Infinity;
  }
}
