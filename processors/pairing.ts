/**
 * Pairs the starts and churns of one pool: a churn ends the oldest open subscription, by the times
 * they happened (`definitions.md`, Ingest). Sides are added in order of receipt, so that what was
 * known after each of them does not depend on how they were batched. Pure.
 */
import type { Environment } from "../schemas/records.js";

/** A row of `anonymous_sides`. */
export interface Side {
  readonly workspace: string;
  readonly environment: Environment;
  readonly pool: string;
  /** As ClickHouse writes it. */
  readonly at: string;
  readonly fact_id: string;
  readonly side: "start" | "churn";
  readonly provider: string;
  readonly subscription: string;
  readonly account: string;
  readonly event_id: string;
  readonly recorded_at: string;
}

export class Pairing {
  /** In order of time. */
  readonly #sides: Side[] = [];
  #ends = new Map<Side, string>();
  #waiting: Side[] = [];
  #open: Side[] = [];
  #oldest = 0;

  /** When the starts end that have a churn. */
  get ends(): ReadonlyMap<Side, string> {
    return this.#ends;
  }

  /** Churns without a partner. */
  get waiting(): readonly Side[] {
    return this.#waiting;
  }

  /** @returns the starts that end at another time now, or no more */
  add(side: Side): Side[] {
    const last = this.#sides.at(-1);
    if (last === undefined || byTime(last, side) <= 0) {
      this.#sides.push(side);
      const ended = this.#step(side);
      return ended === null ? [] : [ended];
    }
    // It happened before what is paired already: the pairs after it may all be others.
    this.#sides.splice(this.#placeOf(side), 0, side);
    const before = this.#ends;
    [this.#ends, this.#waiting, this.#open, this.#oldest] = [new Map(), [], [], 0];
    for (const each of this.#sides) this.#step(each);
    const starts = new Set([...before.keys(), ...this.#ends.keys()]);
    return [...starts].filter((start) => before.get(start) !== this.#ends.get(start));
  }

  #step(side: Side): Side | null {
    if (side.side === "start") {
      this.#open.push(side);
      return null;
    }
    // A named subscription is one, however often its price was told: the newest start has its
    // account, and a churn of what is ended already ends nothing.
    const named = isNamed(side.pool);
    const ended = named ? this.#open.at(-1) : this.#open[this.#oldest];
    if (ended === undefined) {
      this.#waiting.push(side);
      return null;
    }
    if (this.#ends.has(ended)) return null;
    if (!named) this.#oldest += 1;
    this.#ends.set(ended, side.at);
    return ended;
  }

  #placeOf(side: Side): number {
    let [from, to] = [0, this.#sides.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const there = this.#sides[middle];
      if (there !== undefined && byTime(there, side) <= 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** The order in which what is known of a pool grows. */
export function bySideReceipt(one: Side, other: Side): number {
  return compare(one.recorded_at, other.recorded_at) || compare(one.fact_id, other.fact_id);
}

function byTime(one: Side, other: Side): number {
  return (
    compare(one.at, other.at) ||
    // A start and a churn of the same moment: there is something to end.
    compare(other.side, one.side) ||
    compare(one.fact_id, other.fact_id)
  );
}

/** The pool of one subscription that has an id (`providers/record-facts.ts`). */
function isNamed(pool: string): boolean {
  return pool.startsWith('["named"');
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
