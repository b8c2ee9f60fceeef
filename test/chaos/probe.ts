/** How long the figures take to be whole again after something was wrong. */
import { setTimeout as pause } from "node:timers/promises";
import { text } from "../model/readers/json.js";

const askEveryMs = 500;
const answerMsMax = 15_000;

interface Healed {
  readonly what: string;
  readonly at: number;
}

export interface Recovery {
  readonly what: string;
  readonly tookMs: number;
}

export class Probe {
  readonly recoveries: Recovery[] = [];
  readonly #healed: Healed[] = [];
  #turn = 0;

  /** @param bases every interface; the first that answers is asked */
  constructor(
    private readonly bases: readonly string[],
    private readonly key: string,
  ) {}

  /** Recovered when all that was received until now is in the figures. */
  healed(what: string): void {
    this.#healed.push({ what, at: Date.now() });
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const complete = await this.completeTo();
      for (const healed of this.#healed.filter(({ at }) => at <= complete)) {
        this.#healed.splice(this.#healed.indexOf(healed), 1);
        this.recoveries.push({ what: healed.what, tookMs: Date.now() - healed.at });
      }
      await pause(askEveryMs);
    }
  }

  /** ms since 1970; 0 while nobody answers. */
  async completeTo(): Promise<number> {
    const base = this.bases[(this.#turn += 1) % this.bases.length];
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
