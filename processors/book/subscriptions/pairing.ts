/**
 * Pairs the starts and churns of one pool: a churn ends the oldest open subscription, by the times
 * they happened (`definitions.md`, Ingest). Sides are added in order of receipt, so that batches
 * make no difference; those of one receipt are paired together. Pure.
 */
import { compare, placeIn } from "../../../runtime/lists.js";
import type { Change } from "../../../schemas/subscriptions/change.js";

/** A row of `unidentified_sides`. */
export interface Side extends Omit<
  Change,
  "change_id" | "revision" | "void" | "phase" | "currency" | "country" | "steps"
> {
  readonly pool: string;
  readonly fact_id: string;
  readonly side: "start" | "churn";
  /**
   * Of the raw event, and where it lies on its topic; an empty type: not kept in earlier versions.
   */
  readonly native_type: string;
  readonly partition: number;
  readonly offset: string;
}

export class Pairing {
  readonly #sides: Side[] = [];
  #ends = new Map<Side, string>();
  #waiting: Side[] = [];
  #open: Side[] = [];
  #oldest = 0;
  #isPaired = true;
  /** The last reported end of each start whose end has changed since. */
  readonly #reported = new Map<Side, string | undefined>();
  #pairedAgain = 0;

  /** When each start ends that has a churn. */
  get ends(): ReadonlyMap<Side, string> {
    this.#pairAgain();
    return this.#ends;
  }

  get waiting(): readonly Side[] {
    this.#pairAgain();
    return this.#waiting;
  }

  /** False: the last sides came before others in time; all are paired again on demand. */
  get isPaired(): boolean {
    return this.#isPaired;
  }

  /** How many sides were gone through again because others came late. */
  get pairedAgain(): number {
    return this.#pairedAgain;
  }

  add(side: Side): void {
    const last = this.#sides.at(-1);
    if (this.#isPaired && (last === undefined || byTime(last, side) <= 0)) {
      this.#sides.push(side);
      this.#step(side);
      return;
    }
    // It happened before paired sides, so all pairs after it may change.
    const place = placeIn(this.#sides, (each) => byTime(each, side) <= 0);
    this.#sides.splice(place, 0, side);
    this.#isPaired = false;
  }

  /** The starts whose end has changed since this was asked last. */
  moved(): Side[] {
    this.#pairAgain();
    const moved = [...this.#reported].filter(
      ([start, reported]) => this.#ends.get(start) !== reported,
    );
    this.#reported.clear();
    return moved.map(([start]) => start);
  }

  #pairAgain(): void {
    if (this.#isPaired) return;
    this.#isPaired = true;
    this.#pairedAgain += this.#sides.length;
    for (const [start, end] of this.#ends)
      if (!this.#reported.has(start)) this.#reported.set(start, end);
    [this.#ends, this.#waiting, this.#open, this.#oldest] = [new Map(), [], [], 0];
    for (const each of this.#sides) this.#step(each);
  }

  #step(side: Side): void {
    if (side.side === "start") {
      this.#open.push(side);
      return;
    }
    // A named subscription is one, however often its price was reported: the newest start has its
    // account, and a churn of an ended one ends nothing.
    const named = isNamed(side.pool);
    const ended = named ? this.#open.at(-1) : this.#open[this.#oldest];
    if (ended === undefined) {
      this.#waiting.push(side);
      return;
    }
    if (this.#ends.has(ended)) return;
    if (!named) this.#oldest += 1;
    this.#ends.set(ended, side.at);
    if (!this.#reported.has(ended)) this.#reported.set(ended, undefined);
  }
}

export function bySideReceipt(one: Side, other: Side): number {
  return compare(one.recorded_at, other.recorded_at) || compare(one.fact_id, other.fact_id);
}

function byTime(one: Side, other: Side): number {
  return (
    compare(one.at, other.at) ||
    // If a start and a churn share a moment, the churn has something to end.
    compare(other.side, one.side) ||
    compare(one.fact_id, other.fact_id)
  );
}

/** The pool of one subscription that has an id (`providers/record-facts.ts`). */
export function isNamed(pool: string): boolean {
  return pool.startsWith('["named"');
}
