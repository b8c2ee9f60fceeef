/** What an account's subscriptions are at a moment, with all that definitions tell apart. Pure. */
import { type Fraction, mrrOf } from "../money/monthly.js";
import { type Change, monthlyIn, timeOf } from "./change.js";
import { type Held, type Worth, stepsOf, worthAfter, worthless } from "./worth.js";

export interface PricedItem {
  readonly sku: string;
  readonly currency: string;
  /** Of one minor unit of the currency, after recurring discounts. */
  readonly monthly: Fraction;
  readonly interval: string;
  /** Millionths of the base currency, at the quote of the change that set the price. */
  readonly mrr: bigint;
  /** The same at the quote of the newest change that reports the price, such as a renewal. */
  readonly renewed: bigint;
}

export interface SubscriptionState {
  readonly provider: string;
  /** What is its MRR. */
  readonly counting: readonly PricedItem[];
  /** What counted before it stopped without an end: paused, unpaid, on trial again. */
  readonly paused: readonly PricedItem[];
  /** What counts once all discounts with an announced end have ended. */
  readonly lasting: readonly PricedItem[];
}

export interface AccountState {
  readonly subscriptions: readonly SubscriptionState[];
  /** When it first had MRR, as ClickHouse writes it; empty: never. */
  readonly began: string;
  /** Its first MRR began in the month of the moment, by whose end all of it has ended. */
  readonly leavesInFirstMonth: boolean;
}

/** A row of `subscription_changes`, without what the state does not depend on. */
export type StateChange = Omit<
  Change,
  "workspace" | "environment" | "account" | "currency" | "country"
>;

/**
 * @param changes all of one account up to the end of that month, in any order
 * @param at as ClickHouse writes it
 */
export function accountStateAt(changes: readonly StateChange[], at: string): AccountState {
  const subscriptions: SubscriptionState[] = [];
  let began = "";
  let remains = false;
  for (const own of bySubscription(changes).values()) {
    const moments = [...momentsOf(own)];
    const first = moments.find(({ worth }) => worth.counting.size > 0);
    if (first !== undefined && (began === "" || first.at < began)) began = first.at;
    remains ||= isLeft(lastUpTo(moments, endOfMonth(at))?.worth ?? worthless);
    const now = lastUpTo(moments, at);
    if (now !== undefined) subscriptions.push(stateAt(now, at));
  }
  return { subscriptions, began, leavesInFirstMonth: monthOf(began) === monthOf(at) && !remains };
}

/** In the order in which they count; of each change its greatest revision. */
function bySubscription(changes: readonly StateChange[]): Map<string, StateChange[]> {
  const newest = new Map<string, StateChange>();
  for (const change of changes) {
    const known = newest.get(change.change_id);
    if (known === undefined || known.revision < change.revision) {
      newest.set(change.change_id, change);
    }
  }
  const timed = Array.from(newest.values(), (change) => ({ change, time: timeOf(change) }));
  const subscriptions = new Map<string, StateChange[]>();
  for (const { change } of timed.toSorted((one, other) => (one.time < other.time ? -1 : 1))) {
    if (change.void === 1) continue;
    const own = subscriptions.get(change.subscription);
    if (own === undefined) subscriptions.set(change.subscription, [change]);
    else own.push(change);
  }
  return subscriptions;
}

interface Moment {
  readonly at: string;
  readonly worth: Worth;
  readonly change: StateChange;
  readonly step: StateChange["steps"][number];
}

function* momentsOf(changes: readonly StateChange[]): Generator<Moment> {
  let worth = worthless;
  for (const [index, change] of changes.entries()) {
    for (const step of stepsOf(change, changes[index + 1])) {
      worth = worthAfter(worth, step, change);
      yield { at: step.at, worth, change, step };
    }
  }
}

/** What pauses has not ended. */
function isLeft({ counting, paused }: Worth): boolean {
  return counting.size > 0 || paused.size > 0;
}

function lastUpTo(moments: readonly Moment[], at: string): Moment | undefined {
  return moments.findLast((moment) => moment.at <= at);
}

function stateAt({ worth, change, step }: Moment, at: string): SubscriptionState {
  const counting = pricedItems(worth.counting, step);
  const ahead = stepsOf(change).filter((next) => next.at > at);
  const last = ahead.at(-1);
  if (last === undefined) {
    const paused = pricedItems(worth.paused, step);
    return { provider: change.provider, counting, paused, lasting: counting };
  }
  const later = ahead.reduce((before, next) => worthAfter(before, next, change), worth);
  // What a discount of 100 % leaves of it is nothing, and no pause.
  const lasting = pricedItems(later.counting, last);
  return { provider: change.provider, counting, paused: [], lasting };
}

function pricedItems(held: ReadonlyMap<string, Held>, { items }: Moment["step"]): PricedItem[] {
  const reported = new Map(items.map(({ item, mrr }) => [item, mrr]));
  return Array.from(held, ([item, { sku, currency, price, interval, mrr }]) => {
    const newest = reported.get(item);
    const renewed = newest === undefined ? mrr : mrrOf(newest);
    return { sku, currency, monthly: monthlyIn(price), interval, mrr, renewed };
  });
}

function monthOf(at: string): string {
  return at.slice(0, "YYYY-MM".length);
}

/** No later moment of that month, as text: no time begins with `~`. */
function endOfMonth(at: string): string {
  return `${monthOf(at)}~`;
}
