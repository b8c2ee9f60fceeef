/**
 * One subscription of an account: its changes in order of time, and what its SKUs gain and lose at
 * each moment. Of the changes of one moment the last in that order counts: ended beats changed
 * beats started, then the greater event id, then of one event the later reading (`definitions.md`,
 * MRR). Pure. Adding or removing a change works out later ones only as far as they differ, mostly
 * the next one.
 */
import { placeIn } from "../../../runtime/lists.js";
import { type Change, timeOf } from "../../../schemas/subscriptions/change.js";
import {
  type Held,
  type Worth,
  stepsOf,
  worthAfter,
  worthless,
} from "../../../schemas/subscriptions/worth.js";

/** What one SKU of a subscription gains (or loses, below 0) in one currency and plan interval. */
export interface Part {
  /** As ClickHouse writes it. */
  readonly at: string;
  readonly subscription: string;
  readonly sku: string;
  readonly currency: string;
  readonly interval: string;
  /** Millionths of the base currency. */
  readonly mrr: bigint;
  /** 1 when the subscription begins to count for the SKU, -1 when it ceases to; else 0. */
  readonly subscriptions: number;
}

interface Entry {
  readonly change: Change;
  readonly time: string;
  /** What the subscription is worth after this change's last step. */
  readonly worth: Worth;
  readonly parts: readonly Part[];
}

export class SubscriptionTimeline {
  readonly #entries: Entry[] = [];

  /** @returns the parts that are added and, with the sign turned, those that are gone */
  add(change: Change): Part[] {
    const time = timeOf(change);
    const place = placeIn(this.#entries, (entry) => entry.time < time);
    // Stands for what the next change was worked out from.
    const worth = this.#entries[place - 1]?.worth ?? worthless;
    this.#entries.splice(place, 0, { change, time, worth, parts: [] });
    return this.#workOut(Math.max(0, place - 1), place);
  }

  /** @param change one that was added @returns as `add` */
  remove(change: Change): Part[] {
    const time = timeOf(change);
    const place = placeIn(this.#entries, (entry) => entry.time < time);
    const [removed] = this.#entries.splice(place, 1);
    if (removed === undefined) return [];
    const before = this.#entries[place - 1];
    if (before !== undefined) this.#entries[place - 1] = { ...before, worth: removed.worth };
    const from = Math.max(0, place - 1);
    return [...removed.parts.map(turned), ...this.#workOut(from, from)];
  }

  /** @param changed the first entry whose `worth` the next one was worked out from */
  #workOut(from: number, changed: number): Part[] {
    const difference: Part[] = [];
    for (let index = from; index < this.#entries.length; index += 1) {
      const entry = this.#entries[index];
      if (entry === undefined) break;
      const input = this.#entries[index - 1]?.worth ?? worthless;
      const { worth, parts } = effectOf(entry.change, input, this.#entries[index + 1]?.change);
      difference.push(...entry.parts.map(turned), ...parts);
      this.#entries[index] = { ...entry, worth, parts };
      if (index >= changed && isSame(worth, entry.worth)) break;
    }
    return difference;
  }
}

function effectOf(
  change: Change,
  input: Worth,
  next: Change | undefined,
): { readonly worth: Worth; readonly parts: Part[] } {
  const parts: Part[] = [];
  let worth = input;
  for (const step of stepsOf(change, next)) {
    const after = worthAfter(worth, step, change);
    parts.push(...differenceOf(worth, after, change.subscription, step.at));
    worth = after;
  }
  return { worth, parts };
}

function differenceOf(before: Worth, after: Worth, subscription: string, at: string): Part[] {
  const sums = new Map<string, Pick<Part, "sku" | "currency" | "interval"> & { mrr: bigint }>();
  const bySku = new Map<string, { before: bigint; after: bigint }>();
  for (const [worth, sign] of [
    [before, -1n],
    [after, 1n],
  ] as const) {
    for (const { sku, currency, interval, mrr } of worth.counting.values()) {
      const key = `${currency}:${interval}:${sku}`;
      const sum = sums.get(key) ?? { sku, currency, interval, mrr: 0n };
      sum.mrr += sign * mrr;
      sums.set(key, sum);
      const of = bySku.get(sku) ?? { before: 0n, after: 0n };
      of[sign < 0n ? "before" : "after"] += mrr;
      bySku.set(sku, of);
    }
  }
  const parts: Part[] = [];
  for (const { sku, currency, interval, mrr } of sums.values()) {
    if (mrr === 0n) continue;
    const of = bySku.get(sku);
    const begun = of === undefined ? 0 : Number(of.after > 0n) - Number(of.before > 0n);
    // Of a SKU whose price changes currency or interval the first part says it; both together say
    // nothing.
    bySku.delete(sku);
    parts.push({ at, subscription, sku, currency, interval, mrr, subscriptions: begun });
  }
  return parts;
}

function turned(part: Part): Part {
  return { ...part, mrr: -part.mrr, subscriptions: -part.subscriptions };
}

function isSame(one: Worth, other: Worth): boolean {
  return isSameHeld(one.counting, other.counting) && isSameHeld(one.paused, other.paused);
}

function isSameHeld(one: ReadonlyMap<string, Held>, other: ReadonlyMap<string, Held>): boolean {
  if (one === other) return true;
  if (one.size !== other.size) return false;
  for (const [item, { sku, price, interval, mrr }] of one) {
    const same = other.get(item);
    if (same?.sku !== sku || same.price !== price) return false;
    if (same.interval !== interval || same.mrr !== mrr) return false;
  }
  return true;
}
