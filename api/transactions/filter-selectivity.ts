/**
 * How many rows of a list had to be read for each that passed its filters, as earlier pages
 * reported: a guess at how to read the next page. What is shown does not depend on it.
 */
import { LRUCache } from "lru-cache";
import type { PinnedAsOf } from "../reading/pages.js";
import type { TransactionsWanted } from "./query.js";

/** Of a list nothing is known of: planning a read of so many is most of its price. */
const rowsFirst = 600;
/** A read of more takes longer than to look for candidates, and then for their versions. */
const rowsMax = 1_200;
/** More than the filters let through the last time, here and there. */
const spare = 1.25;
/** What few rows passed may be what many pass by then. */
const keptMs = 10 * 60_000;
const listsMax = 1_000;

export class PassingRows {
  readonly #lists = new LRUCache<string, Passed>({ max: listsMax });

  /** @param elapsed ms by a clock that is never set */
  constructor(private readonly elapsed: () => number = () => performance.now()) {}

  /**
   * @param count rows that are to pass
   * @returns how many rows of the list to read in order; null where that would be too many
   */
  rowsFor(list: string, count: number): number | null {
    const known = this.#known(list);
    if (known === undefined) return rowsFirst;
    const rows = Math.ceil((spare * count) / known.share);
    return rows <= rowsMax ? rows : null;
  }

  /** All of its rows were read at once: to find them no order need be kept. */
  isShort(list: string): boolean {
    return this.#known(list)?.isShort ?? false;
  }

  /** @param passed of the `read` rows, in order */
  learn(list: string, passed: number, read: number): void {
    this.#keep(list, { share: passed / read, isShort: false });
  }

  learnShort(list: string): void {
    this.#keep(list, { share: this.#known(list)?.share ?? 0, isShort: true });
  }

  #known(list: string): Passed | undefined {
    const known = this.#lists.get(list);
    return known === undefined || known.expiresAt <= this.elapsed() ? undefined : known;
  }

  #keep(list: string, passed: Omit<Passed, "expiresAt">): void {
    this.#lists.set(list, { ...passed, expiresAt: this.elapsed() + keptMs });
  }
}

interface Passed {
  readonly share: number;
  readonly isShort: boolean;
  readonly expiresAt: number;
}

/** Identifies the list, independent of its time. */
export function listKey(
  { workspace, environment }: Pick<PinnedAsOf, "workspace" | "environment">,
  { provider, status, type, currency, country, skus, account, ids }: TransactionsWanted,
): string {
  const filters = [provider, status, type, currency, country, skus, account, ids];
  return JSON.stringify([workspace, environment, ...filters]);
}
