/**
 * Caches answers of a slow look-up, misses too: bounded in time (a change is seen within `ttlMs`)
 * and in number.
 */
import { LRUCache } from "lru-cache";
export interface CacheOptions<V> {
  readonly ttlMs: number;
  /** ms from the beginning of the look-up, for expensive values; default: `ttlMs`. */
  readonly ttlMsOf?: (value: V) => number;
  readonly entriesMax: number;
  load(key: string): Promise<V>;
  /** ms by a clock that is never set: one set back would keep old answers for all that time. */
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

  /** Makes changes in this process visible at once. */
  clear(): void {
    this.#entries.clear();
  }
}
