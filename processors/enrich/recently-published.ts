/**
 * What answers of providers' APIs report the same to all events (a product's name), and was handed
 * on lately: until it is old no other event waits for it. Each environment is reported by itself,
 * since one integration may have events of both (`providers/provider.ts`, reportsBothEnvironments).
 */
import type { Question } from "../../providers/provider.js";
import type { RawEventMeta } from "../../schemas/records/records.js";

type Reported = Pick<Question, "path" | "headers">;
type Hearer = Pick<RawEventMeta, "integration" | "environment">;

const entriesMax = 10_000;

export class RecentlyPublished {
  /** On `performance.now()`. */
  readonly #until = new Map<string, number>();

  has(to: Hearer, question: Reported): boolean {
    return (this.#until.get(nameOf(to, question)) ?? 0) > performance.now();
  }

  keep(to: Hearer, question: Reported & Pick<Question, "freshForMs">): void {
    const name = nameOf(to, question);
    this.#until.delete(name);
    this.#until.set(name, performance.now() + question.freshForMs);
    const [oldest] = this.#until.keys();
    if (this.#until.size > entriesMax && oldest !== undefined) this.#until.delete(oldest);
  }
}

function nameOf({ integration, environment }: Hearer, { path, headers = {} }: Reported): string {
  return JSON.stringify([integration, environment, headers, path]);
}
