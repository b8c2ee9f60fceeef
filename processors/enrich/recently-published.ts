/**
 * Answers of providers' APIs that are the same for all events (a product's name) and were published
 * recently: no other event waits for them. Kept by environment, since one integration may have
 * events of both (`providers/provider.ts`, reportsBothEnvironments).
 */
import { LRUCache } from "lru-cache";
import type { Question } from "../../providers/provider.js";
import type { RawEventMeta } from "../../schemas/records/records.js";

type Reported = Pick<Question, "path" | "headers">;
type Hearer = Pick<RawEventMeta, "integration" | "environment">;

const entriesMax = 10_000;

export class RecentlyPublished {
  readonly #names = new LRUCache<string, true>({ max: entriesMax });

  has(to: Hearer, question: Reported): boolean {
    return this.#names.has(nameOf(to, question));
  }

  keep(to: Hearer, question: Reported & Pick<Question, "freshForMs">): void {
    this.#names.set(nameOf(to, question), true, { ttl: question.freshForMs });
  }
}

function nameOf({ integration, environment }: Hearer, { path, headers = {} }: Reported): string {
  return JSON.stringify([integration, environment, headers, path]);
}
