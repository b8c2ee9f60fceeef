/** How long the figures take to be whole again after something was wrong. */
import { setTimeout as pause } from "node:timers/promises";
import { text } from "../model/readers/json.js";

const askEveryMs = 250;
/** Asked again then: what waits for a server that was away says nothing about the next call. */
const answerMsMax = 5_000;

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
  #complete = 0;

  /**
   * @param bases every interface
   * @param needed whether one of them must have the figures, or each: others may still be faulty
   */
  constructor(
    private readonly bases: readonly string[],
    private readonly key: string,
    private readonly needed: "one" | "each",
  ) {}

  /** Recovered when all that was received until now is in the figures. */
  healed(what: string): void {
    this.#healed.push({ what, at: Date.now() });
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
    await Promise.all(this.bases.map(ask));
  }

  #note(): void {
    for (const healed of this.#healed.filter(({ at }) => at <= this.#complete)) {
      this.#healed.splice(this.#healed.indexOf(healed), 1);
      this.recoveries.push({ what: healed.what, tookMs: Date.now() - healed.at });
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
