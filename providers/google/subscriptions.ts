/**
 * Subscriptions: the purchase and its orders report the whole history of what it was worth, each
 * time anew, so that a lost or late notification costs nothing. Rules: `definitions.md`, MRR and
 * Providers (Google).
 */
import { eventAheadMs } from "../../config.js";
import type { FactBody } from "../../schemas/records/records.js";
import { rejected, type Unreported } from "../outcomes.js";
import { nothingFrom, type SubscriptionFact, trialFrom, type Worth, worthOf } from "../worth.js";
import type { PurchaseNotification } from "./notification.js";
import type { PricedPeriod } from "./periods.js";
import type { Purchase } from "./purchase.js";
import { endStanding, standingOf } from "../standing.js";

export interface Subject {
  readonly notification: PurchaseNotification;
  readonly account: string;
  /** Purchases further back in its chain. */
  readonly before: readonly string[];
  /** When it came, or was replayed; Google is asked then, and says what began since. */
  readonly readAt: number;
}

export function readPurchase(
  { notification: { token, type, at: reportedAt }, account, before, readAt }: Subject,
  purchase: Purchase,
  periods: readonly PricedPeriod[],
): FactBody[] | Unreported {
  const { regionCode, linkedPurchaseToken } = purchase;
  const expiredAt = expiryOf(purchase, reportedAt);
  const start = startOf(purchase, periods, expiredAt);
  const latest = readAt + eventAheadMs(purchase.testPurchase === undefined ? "live" : "test");
  if (start === null || start > latest) return [];
  const change = (
    subscription: string,
    phase: SubscriptionFact["phase"],
    worth: Worth,
  ): FactBody => ({
    Subscription: { subscription, account, country: regionCode, phase, ...worth },
  });

  const facts: FactBody[] = [];
  for (const { at, worth } of historyOf(periods, start, latest)) {
    if ("outcome" in worth) return worth;
    facts.push(change(token, at === start ? "started" : "changed", worth));
  }
  if (type === "SUBSCRIPTION_PAUSED") facts.push(change(token, "changed", nothingFrom(reportedAt)));
  if (expiredAt !== null && !isReplaced(purchase)) {
    facts.push(change(token, "ended", nothingFrom(expiredAt)));
  }
  const replaced = [linkedPurchaseToken ?? [], before].flat();
  return [...facts, ...replaced.map((each) => change(each, "ended", nothingFrom(start)))];
}

/**
 * A purchase that replaces another only when that one's period is over (a deferred change) is paid
 * for then, and begins then: until then the other one goes on. One that is paid for in advance (a
 * prepaid top-up) begins at once, and one that is over before anything was paid ends the other with
 * it.
 * @returns null while its first payment is pending: nothing is granted, and nothing replaced
 */
function startOf(
  purchase: Purchase,
  periods: readonly PricedPeriod[],
  expiredAt: number | null,
): number | null {
  const { startTime: start, linkedPurchaseToken: replaced } = purchase;
  if (start === null || start === undefined) return null;
  if (replaced === null || replaced === undefined) return start;
  if (periods.length === 0) return expiredAt;
  const from = Math.min(...periods.map((period) => period.from));
  const paidAt = Math.min(...periods.map((period) => period.paidAt));
  return from > start && paidAt > start + paidWithinMs ? from : start;
}

/** Null while it goes on. @param reportedAt counts where Google does not report */
function expiryOf({ subscriptionState: state, lineItems }: Purchase, reportedAt: number) {
  if (state !== "SUBSCRIPTION_STATE_EXPIRED") return null;
  const ends = lineItems.flatMap(({ expiryTime }) => expiryTime ?? []);
  return ends.length === 0 ? reportedAt : Math.max(...ends);
}

/** An order made so long after the purchase does not pay for its beginning. */
const paidWithinMs = 60 * 60 * 1000;

/** Its successor ends it, in the moment that one starts: no gap, however the expiry is rounded. */
function isReplaced({ canceledStateContext: context }: Purchase): boolean {
  return context?.replacementCancellation !== undefined;
}

/**
 * What the subscription was worth from each moment on. A renewal that follows at the same price
 * says nothing new; one after a gap does, because a pause may lie between, and so does the last. A
 * period that lies further ahead than events may is reported by its own notification.
 */
function historyOf(
  periods: readonly PricedPeriod[],
  start: number,
  latest: number,
): { at: number; worth: Worth | Unreported }[] {
  const first = firstOf(periods, start);
  const later = periods.filter(({ from }) => from > start && from <= latest);
  const known = [
    ...first.map((period) => ({ ...period, from: start })),
    ...later.filter((period) => !first.includes(period)),
  ].sort((one, other) => one.from - other.from);
  const moments = [...new Set([start, ...known.map(({ from }) => from)])];
  const history: { at: number; worth: Worth | Unreported }[] = [];
  let reported = "";
  let paidUntil = start;
  for (const at of moments) {
    const current = currentAt(known, at);
    const text = current
      .flatMap(({ product, currency, items: [item] }) => {
        return [product, currency, item?.monthly_numerator, item?.monthly_denominator];
      })
      .join(" ");
    const isNews = text !== reported || at > paidUntil || at === moments.at(-1);
    if (isNews) history.push({ at, worth: worthAt(at, current) });
    reported = text;
    paidUntil = Math.max(at, ...current.map(({ until }) => until ?? at));
  }
  return history;
}

/**
 * What it started with: of each product the last period begun by then (of a purchase it replaced),
 * else the earliest, which is paid for from the start although a top-up counts it from later.
 */
function firstOf(periods: readonly PricedPeriod[], start: number): PricedPeriod[] {
  const begun = currentAt(periods, start);
  if (begun.length > 0) return begun;
  const earliest = Math.min(...periods.map(({ from }) => from));
  return periods.filter(({ from }) => from === earliest);
}

/** Of each product its newest period, unless that is over while another product goes on. */
function currentAt(periods: readonly PricedPeriod[], at: number): PricedPeriod[] {
  const newest = new Map<string, PricedPeriod>();
  for (const period of periods) {
    const before = newest.get(period.product);
    if (period.from <= at && (!before || before.from <= period.from)) {
      newest.set(period.product, period);
    }
  }
  const current = [...newest.values()];
  const goesOn = ({ from, until }: PricedPeriod) => from === at || (until ?? at + 1) > at;
  return current.some(goesOn) ? current.filter(goesOn) : current;
}

function worthAt(at: number, periods: readonly PricedPeriod[]): Worth | Unreported {
  if (periods.length > 0 && periods.every(({ isTrial }) => isTrial)) return trialFrom(at);
  const priced = periods.filter(({ items }) => items.length > 0);
  const currency = priced[0]?.currency ?? "";
  if (priced.some((period) => period.currency !== currency)) {
    return rejected("malformed", "orders: several currencies at a time");
  }
  return worthOf(currency, [{ at, items: priced.flatMap(({ items }) => items) }]);
}

/** What a notification and its purchase say of the payments of a subscription. */

/** In both states the renewal was declined; on hold the customer has no access any more. */
const failing: ReadonlySet<string> = new Set([
  "SUBSCRIPTION_IN_GRACE_PERIOD",
  "SUBSCRIPTION_ON_HOLD",
]);

export function standingsOf(
  { notification: { token: subscription, type, at }, account }: Subject,
  purchase: Purchase,
  periods: readonly PricedPeriod[],
): FactBody[] {
  const of = { subscription, account };
  const begun = periods.flatMap(({ from }) => (from <= at ? from : [])).sort((a, b) => a - b);
  const expiredAt = expiryOf(purchase, at);
  const isOver = expiredAt !== null && !isReplaced(purchase);
  return [
    ...standingOf(of, failing.has(type) ? "failing" : null, at, begun.at(-1)),
    ...(isOver ? standingOf(of, endStanding(isUnpaid(purchase)), expiredAt) : []),
  ];
}

/** Null where Google does not say who ended it. The system does where it cannot charge. */
function isUnpaid({ canceledStateContext: context }: Purchase): boolean | null {
  if (context?.systemInitiatedCancellation !== undefined) return true;
  const others = [context?.userInitiatedCancellation, context?.developerInitiatedCancellation];
  return others.some((other) => other !== undefined) ? false : null;
}
