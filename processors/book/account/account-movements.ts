/**
 * What should be recorded of one account: under each event, in order of receipt, the movements by
 * which the account differs from what was known before. So batching never shows, and every reading
 * of the past is a sum of rows (`definitions.md`, Two clocks). Pure.
 */
import { compare, placeIn } from "../../../runtime/lists.js";
import { plainMrr } from "../../../schemas/money/monthly.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { unknownCountry } from "../../../schemas/countries.js";
import { movementsOfMoment } from "./moment.js";
import { type Part, SubscriptionTimeline } from "./subscription.js";
import type { MovementKind } from "../../../schemas/records/records.js";

export interface MovementRow
  extends
    Omit<Movement, "mrr">,
    Pick<
      Change,
      "workspace" | "environment" | "account" | "provider" | "recorded_at" | "event_id"
    > {
  /** Decimal text of base currency, up to six places. */
  readonly mrr: string;
}

/**
 * @param changes all of one account, in any order
 * @returns the rows of one event after another, so that the caller may pause in between
 */
export function* accountMovements(changes: readonly Change[]): Generator<readonly MovementRow[]> {
  const account = new Account();
  const received = changes.toSorted(byReceipt);
  for (let index = 0; index < received.length;) {
    const cause = received[index];
    if (cause === undefined) break;
    const difference = new Difference();
    for (; isOfEvent(received[index], cause); index += 1) {
      const change = received[index];
      if (change !== undefined) account.add(change, difference);
    }
    yield difference.movements.map((movement) => rowOf(movement, cause));
  }
}

function isOfEvent(change: Change | undefined, cause: Change): boolean {
  return change?.recorded_at === cause.recorded_at && change.event_id === cause.event_id;
}

function rowOf(movement: Movement, cause: Change): MovementRow {
  const { workspace, environment, account, provider, recorded_at, event_id } = cause;
  return {
    workspace,
    environment,
    account,
    provider,
    ...movement,
    mrr: plainMrr(movement.mrr),
    recorded_at,
    event_id,
  };
}

function byReceipt(one: Change, other: Change): number {
  return (
    compare(one.recorded_at, other.recorded_at) ||
    compare(one.event_id, other.event_id) ||
    compare(one.change_id, other.change_id) ||
    one.revision - other.revision
  );
}

/**
 * An account after each of its changes: its moments in order of time, and the movements of each.
 * A change computes only the moments it touches. Later movements may become of another kind (a
 * `new` a `reactivation`), because the account's total before them changed. Pure.
 */
interface Moment {
  readonly at: string;
  /** By subscription, SKU, currency and interval. */
  readonly parts: Map<string, Part>;
  /** Millionths that the account was worth before. */
  before: bigint;
  net: bigint;
  movements: readonly Movement[];
}

class Account {
  readonly #timelines = new Map<string, SubscriptionTimeline>();
  /** The newest revision of each change. */
  readonly #revisions = new Map<string, Change>();
  readonly #moments: Moment[] = [];
  /** The change that says where the customer is. */
  #located: Change | null = null;

  /** Adds a change, and to `difference` what that does to the movements. */
  add(change: Change, difference: Difference): void {
    if (change.country !== "") this.#locate(change, difference);
    if (change.subscription === "") return;
    const known = this.#revisions.get(change.change_id);
    if (known !== undefined && known.revision >= change.revision) return;
    this.#revisions.set(change.change_id, change);
    const timeline = this.#timelineOf(change.subscription);
    const parts = known === undefined || known.void === 1 ? [] : timeline.remove(known);
    if (change.void === 0) parts.push(...timeline.add(change));
    const first = this.#first;
    for (const part of parts) this.#put(part);
    const touched = new Set(parts.map(({ at }) => at));
    if (touched.size > 0) this.#walk(this.#first === first ? touched : "all", difference);
  }

  /** The earliest change that names a country counts, for all movements. */
  #locate(change: Change, difference: Difference): void {
    if (this.#located !== null && byTime(this.#located, change) <= 0) return;
    const before = this.#located?.country;
    this.#located = change;
    if (change.country !== before) this.#walk("all", difference);
  }

  #timelineOf(subscription: string): SubscriptionTimeline {
    const known = this.#timelines.get(subscription);
    if (known !== undefined) return known;
    const timeline = new SubscriptionTimeline();
    this.#timelines.set(subscription, timeline);
    return timeline;
  }

  get #first(): string | undefined {
    return this.#moments.find(({ parts }) => parts.size > 0)?.at;
  }

  #put(part: Part): void {
    const place = placeIn(this.#moments, ({ at }) => at < part.at);
    let moment = this.#moments[place];
    if (moment?.at !== part.at) {
      const before = this.#moments[place]?.before ?? this.#worth;
      moment = { at: part.at, parts: new Map(), before, net: 0n, movements: [] };
      this.#moments.splice(place, 0, moment);
    }
    const key = JSON.stringify([part.subscription, part.sku, part.currency, part.interval]);
    const known = moment.parts.get(key);
    const mrr = (known?.mrr ?? 0n) + part.mrr;
    const subscriptions = (known?.subscriptions ?? 0) + part.subscriptions;
    if (mrr === 0n && subscriptions === 0) moment.parts.delete(key);
    else moment.parts.set(key, { ...part, mrr, subscriptions });
    moment.net += part.mrr;
  }

  get #worth(): bigint {
    const last = this.#moments.at(-1);
    return last === undefined ? 0n : last.before + last.net;
  }

  /** @param touched moments to work out again; others only where they have another name now */
  #walk(touched: ReadonlySet<string> | "all", difference: Difference): void {
    const first = this.#first;
    const earliest = touched === "all" ? "" : [...touched].reduce((a, b) => (a < b ? a : b));
    let index = placeIn(this.#moments, ({ at }) => at < earliest);
    const previous = this.#moments[index - 1];
    let before = previous === undefined ? 0n : previous.before + previous.net;
    let left = touched === "all" ? Infinity : touched.size;
    for (;;) {
      const moment = this.#moments[index];
      if (moment === undefined || (left === 0 && moment.before === before)) return;
      const isTouched = touched === "all" || touched.has(moment.at);
      if (isTouched || !isCalledAlike(moment, before)) {
        difference.subtract(moment.movements);
        moment.movements = this.#movementsOf(moment, before, first);
        difference.add(moment.movements);
      }
      if (isTouched) left -= 1;
      moment.before = before;
      before += moment.net;
      if (moment.parts.size > 0) index += 1;
      else this.#moments.splice(index, 1);
    }
  }

  #movementsOf(moment: Moment, before: bigint, first = moment.at): Movement[] {
    const country = this.#located?.country ?? unknownCountry;
    const vintage = `${first.slice(0, monthLength)}-01`;
    const parts = [...moment.parts.values()];
    return movementsOfMoment(parts, before, moment.at === first).map(({ part, ...movement }) => ({
      subscription: part.subscription,
      external_id: part.sku,
      currency: part.currency,
      country,
      at: moment.at,
      vintage,
      plan_interval: part.interval,
      ...movement,
    }));
  }
}

const monthLength = "YYYY-MM".length;

/** A moment's name depends on whether the account is worth anything before and after it. */
function isCalledAlike({ before: known, net }: Moment, before: bigint): boolean {
  return signOf(known) === signOf(before) && signOf(known + net) === signOf(before + net);
}

function signOf(mrr: bigint): -1 | 0 | 1 {
  if (mrr === 0n) return 0;
  return mrr > 0n ? 1 : -1;
}

/** The order in which changes count for the country. */
function byTime(one: Change, other: Change): number {
  return (
    compare(one.at, other.at) ||
    compare(one.event_id, other.event_id) ||
    compare(one.change_id, other.change_id)
  );
}

/** A movement: its dimensions and its amount. */
interface Movement {
  readonly subscription: string;
  readonly external_id: string;
  readonly currency: string;
  readonly country: string;
  /** As ClickHouse writes it. */
  readonly at: string;
  readonly kind: MovementKind;
  /** The first day of the month of the account's first MRR. */
  readonly vintage: string;
  /** Of the plan: `schemas/money/plan-intervals.ts`. */
  readonly plan_interval: string;
  /** Millionths of the base currency. */
  readonly mrr: bigint;
  readonly accounts: number;
  readonly subscriptions: number;
}

/** A sum of movements without those that come to nothing. */
class Difference {
  readonly #sums = new Map<string, Movement>();

  add(movements: readonly Movement[]): void {
    for (const movement of movements) this.#put(movement, 1);
  }

  subtract(movements: readonly Movement[]): void {
    for (const movement of movements) this.#put(movement, -1);
  }

  get movements(): Movement[] {
    return [...this.#sums.values()];
  }

  #put(movement: Movement, sign: 1 | -1): void {
    const { subscription, external_id, currency, country, at, kind } = movement;
    const place = [subscription, external_id, currency, country, at, kind];
    const key = JSON.stringify([...place, movement.vintage, movement.plan_interval]);
    const known = this.#sums.get(key);
    const mrr = (known?.mrr ?? 0n) + BigInt(sign) * movement.mrr;
    const accounts = (known?.accounts ?? 0) + sign * movement.accounts;
    const subscriptions = (known?.subscriptions ?? 0) + sign * movement.subscriptions;
    if (mrr === 0n && accounts === 0 && subscriptions === 0) this.#sums.delete(key);
    else this.#sums.set(key, { ...movement, mrr, accounts, subscriptions });
  }
}
