/**
 * What is known under the keys met last, so that what was just booked need not be looked up: the
 * events of one payment come close together. What is not written yet is never left out.
 */
import type { Fact } from "../../../schemas/records/records.js";
import { StoredKeys } from "./stored-keys.js";

export class KnownKeys {
  /** What the table may hold. */
  readonly stored = new StoredKeys();
  readonly #unwritten = new Map<string, readonly Fact[]>();
  readonly #recent = new Map<string, readonly Fact[]>();

  /** All facts known under the key, each once; undefined when the table must be asked. */
  get(key: string): readonly Fact[] | undefined {
    const known = this.#unwritten.get(key) ?? this.#recent.get(key);
    return known ?? (this.stored.mayHave(key) ? undefined : []);
  }

  /** @param written false when some of the facts are on their way to the table */
  keep(key: string, facts: readonly Fact[], written: boolean): void {
    if (!written) this.stored.add(key);
    if (!written || this.#unwritten.has(key)) this.#unwritten.set(key, facts);
    else this.#keepRecent(key, facts);
  }

  /** To be called when a write begins; what it returns, when all unwritten until now is written. */
  writing(): () => void {
    const begun = [...this.#unwritten];
    return () => {
      for (const [key, facts] of begun) {
        if (this.#unwritten.get(key) !== facts) continue;
        this.#unwritten.delete(key);
        this.#keepRecent(key, facts);
      }
    };
  }

  forget(): void {
    this.#unwritten.clear();
    this.#recent.clear();
  }

  /** The keys not met for longest make room. */
  #keepRecent(key: string, facts: readonly Fact[]): void {
    this.#recent.delete(key);
    this.#recent.set(key, facts);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > recentMax && oldest !== undefined) this.#recent.delete(oldest);
  }
}

/** Half a minute of webhooks at 200 a second; some 2 kB each. */
const recentMax = 6_000;
