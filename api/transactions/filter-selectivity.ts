/**
 * How many rows of a list were read for each that passed its filters, as earlier pages found: a
 * guess at how to read the next page. It does not affect the answer.
 */
import { LRUCache } from "lru-cache";

/** For an unknown list: planning a read of so many is most of its price. */
const rowsFirst = 600;
/** Reading more takes longer than looking for candidates, and then for their versions. */
const rowsMax = 1_200;
/** Some more than the filters let through the last time. */
const spare = 1.25;
/** After this, what few rows passed many may pass. */
const keptMs = 10 * 60_000;
const listsMax = 1_000;

interface Passed {
  readonly share: number;
  readonly isShort: boolean;
}

/** Lists are named by `listKey`. */
export class PassingRows {
  readonly #lists: LRUCache<string, Passed>;

  /** @param elapsed ms by a clock that is never set */
  constructor(elapsed: () => number = () => performance.now()) {
    const perf = { now: elapsed };
    this.#lists = new LRUCache({ max: listsMax, ttl: keptMs, ttlResolution: 0, perf });
  }

  /**
   * @param count rows that are to pass
   * @returns how many rows of the list to read in order; null where that would be too many
   */
  rowsFor(list: string, count: number): number | null {
    const known = this.#lists.get(list);
    if (known === undefined) return rowsFirst;
    const rows = Math.ceil((spare * count) / known.share);
    return rows <= rowsMax ? rows : null;
  }

  /** All of its rows were read at once, so no order need be kept. */
  isShort(list: string): boolean {
    return this.#lists.get(list)?.isShort ?? false;
  }

  /** @param passed of the `read` rows, in order */
  learn(list: string, passed: number, read: number): void {
    this.#lists.set(list, { share: passed / read, isShort: false });
  }

  learnShort(list: string): void {
    this.#lists.set(list, { share: this.#lists.get(list)?.share ?? 0, isShort: true });
  }
}
