/**
 * Answers of a slow look-up, kept a while, misses too: bounded in time (a change is seen after
 * `ttlMs` at the latest) and in number.
 */
import { LRUCache } from "lru-cache";
export interface CacheOptions<V> {
  readonly ttlMs: number;
  /** ms, from the beginning of its look-up, for what is dear to look up; left out: `ttlMs`. */
  readonly ttlMsOf?: (value: V) => number;
  readonly entriesMax: number;
  load(key: string): Promise<V>;
  /** ms by a clock that is never set: one set back would keep what is old for all that time. */
  readonly elapsed?: () => number;
}

export class ExpiringCache<V> {
  readonly #entries: LRUCache<string, { readonly value: Promise<V>; readonly expiresAt: number }>;
  readonly #elapsed: () => number;

  constructor(private readonly options: CacheOptions<V>) {
    this.#entries = new LRUCache({ max: options.entriesMax });
    this.#elapsed = options.elapsed ?? (() => performance.now());
  }

  /** Callers who ask for the same at the same time share one look-up. A failure is not kept. */
  get(key: string): Promise<V> {
    const entry = this.#entries.get(key);
    if (entry && entry.expiresAt > this.#elapsed()) return entry.value;
    const askedAt = this.#elapsed();
    const value = this.options.load(key);
    const fresh = { value, expiresAt: askedAt + this.options.ttlMs };
    this.#entries.set(key, fresh);
    value.then(
      (found) =>
        (fresh.expiresAt = askedAt + (this.options.ttlMsOf?.(found) ?? this.options.ttlMs)),
      () => {
        if (this.#entries.get(key) === fresh) this.#entries.delete(key);
      },
    );
    return value;
  }

  /** What changed in this process is seen at once. */
  clear(): void {
    this.#entries.clear();
  }
}
