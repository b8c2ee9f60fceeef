/**
 * What is known under the keys met last, so that what was just booked need not be looked up: the
 * events of one payment come close together. What is not written yet is never left out.
 */
import { LRUCache } from "lru-cache";
import type { Fact } from "../../../schemas/records/records.js";
import { StoredKeys } from "./stored-keys.js";

/** Half a minute of webhooks at 200 a second; some 2 kB each. */
const recentMax = 6_000;

export class KnownKeys {
  /** What the table may hold. */
  readonly stored = new StoredKeys();
  readonly #unwritten = new Map<string, readonly Fact[]>();
  readonly #recent = new LRUCache<string, readonly Fact[]>({ max: recentMax });

  /** All facts known under the key, each once; undefined when the table must be asked. */
  get(key: string): readonly Fact[] | undefined {
    const known = this.#unwritten.get(key) ?? this.#recent.get(key);
    return known ?? (this.stored.mayHave(key) ? undefined : []);
  }

  /** @param written false when some of the facts are on their way to the table */
  keep(key: string, facts: readonly Fact[], written: boolean): void {
    if (!written) this.stored.add(key);
    if (!written || this.#unwritten.has(key)) this.#unwritten.set(key, facts);
    else this.#recent.set(key, facts);
  }

  /** To be called when a write begins; what it returns, when all unwritten until now is written. */
  writing(): () => void {
    const begun = [...this.#unwritten];
    return () => {
      for (const [key, facts] of begun) {
        if (this.#unwritten.get(key) !== facts) continue;
        this.#unwritten.delete(key);
        this.#recent.set(key, facts);
      }
    };
  }

  forget(): void {
    this.#unwritten.clear();
    this.#recent.clear();
  }
}
