/**
 * Answers of providers' APIs that serve further events: bounded in number, size and time. Who asks
 * the same meanwhile shares the call, but not for what changes with every event: a call that was
 * made before an event came may be answered without it.
 */
import type { Asked } from "./provider-api-line.js";

export class FreshAnswers {
  readonly #kept = new Map<string, { readonly asked: Asked; readonly until: number }>();
  readonly #asking = new Map<string, Promise<Asked>>();
  readonly #entriesMax: number;
  readonly #bytesMax: number;

  constructor(options: { readonly entriesMax: number; readonly bytesMax: number }) {
    this.#entriesMax = options.entriesMax;
    this.#bytesMax = options.bytesMax;
  }

  has(integration: string, question: string): boolean {
    return (this.#kept.get(nameOf(integration, question))?.until ?? 0) > Date.now();
  }

  /** @param ask never rejects */
  async get(
    integration: string,
    question: string,
    freshForMs: number,
    ask: () => Promise<Asked>,
  ): Promise<Asked> {
    if (freshForMs <= 0) return ask();
    const name = nameOf(integration, question);
    const kept = this.#kept.get(name);
    if (kept !== undefined && kept.until > Date.now()) return kept.asked;
    const asking = this.#asking.get(name);
    if (asking !== undefined) return asking;
    const asked = ask();
    this.#asking.set(name, asked);
    try {
      const answer = await asked;
      this.#keep(name, answer, Date.now() + freshForMs);
      return answer;
    } finally {
      this.#asking.delete(name);
    }
  }

  #keep(name: string, asked: Asked, until: number): void {
    if (asked.outcome !== "answered" || (asked.text?.length ?? 0) > this.#bytesMax) return;
    this.#kept.delete(name);
    this.#kept.set(name, { asked, until });
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > this.#entriesMax && !oldest.done) this.#kept.delete(oldest.value);
  }
}

function nameOf(integration: string, question: string): string {
  return `${integration} ${question}`;
}
