/** What one customer does from the first day to the end: a made-up, but plausible, history. */
import { dayMs, hourMs, monthsAfter, secondMs, wholeSecond } from "./calendar.js";
import { newPlans, plans } from "./catalogue.js";
import type { Chance, Weighted } from "./chance.js";
import type { Customer } from "./customer.js";
import { type Payment, emitDispute, emitRefund, emitWorkshop } from "./payments.js";
import { type Coupon, Subscription, type Terms } from "./subscription.js";

/** How often things happen; of a period unless said otherwise. */
const percent = {
  /** Of customers. */
  buysOnlyOnce: 8,
  buysWorkshop: 7,
  /** Of subscriptions. */
  yearly: 22,
  trial: 40,
  trialLeaves: 20,
  coupon: 16,
  incompleteFirst: 30,
  comesBack: 22,
  cancelsMonthly: 3.2,
  cancelsYearly: 14,
  cancelsAtOnce: 25,
  pastDue: 2.5,
  pastDueRecovers: 75,
  changesTerms: 5,
  /** Of changes to more. */
  nextPlan: 20,
  /** Of payments. */
  refundedWhole: 0.9,
  refundedInPart: 1.1,
  disputed: 0.35,
  disputeWon: 40,
} as const;

const trialMs = 14 * dayMs;
const retriesEndAfterMs = 14 * dayMs;
/** Periods of one subscription, subscriptions of one customer: no history is longer. */
const periodsMax = 60;
const subscriptionsMax = 4;

const seatsAddedMax = 3;

const coupons: readonly Weighted<Coupon>[] = [
  [50, { percentOff: 30, duration: "repeating" }],
  [30, { percentOff: 50, duration: "once" }],
  [20, { percentOff: 15, duration: "forever" }],
];

/** @param start ms since 1970 */
export function emitHistory(customer: Customer, start: number): void {
  const { chance, journal } = customer;
  customer.introduce(start);
  if (chance.happens(percent.buysOnlyOnce)) {
    emitFate(customer, emitWorkshop(customer, start));
    return;
  }
  let at = start;
  for (let times = 0; times < subscriptionsMax; times += 1) {
    const { subscription, endedAt } = emitSubscription(customer, at);
    if (subscription.isWorth) {
      journal.subscribers += 1;
      journal.subscriptions += 1;
    }
    if (endedAt === null || !chance.happens(percent.comesBack)) return;
    at = later(chance, endedAt + 20 * dayMs, endedAt + 150 * dayMs);
    if (journal.isOver(at)) return;
  }
}

interface Ended {
  readonly subscription: Subscription;
  /** Null: it outlives the history. */
  readonly endedAt: number | null;
}

function emitSubscription(customer: Customer, at: number): Ended {
  const { chance, journal } = customer;
  const terms = newTerms(chance);
  const coupon = chance.happens(percent.coupon) ? chance.weighted(coupons) : null;
  const trialEndAt = chance.happens(percent.trial) ? at + trialMs : null;
  const subscription = begin(customer, at, terms, coupon, trialEndAt);
  if (trialEndAt !== null && chance.happens(percent.trialLeaves)) {
    subscription.change(later(chance, at, trialEndAt), { cancelAtPeriodEnd: true });
    subscription.end(trialEndAt);
    return { subscription, endedAt: trialEndAt };
  }
  if (trialEndAt !== null) subscription.change(trialEndAt, { status: "active" });
  if (chance.happens(percent.buysWorkshop)) {
    emitFate(customer, emitWorkshop(customer, later(chance, at, at + 60 * dayMs)));
  }
  const anchor = trialEndAt ?? at;
  for (let months = 0, period = 0; period < periodsMax; period += 1) {
    const from = monthsAfter(anchor, months);
    if (journal.isOver(from)) break;
    months += subscription.monthsPerPeriod;
    const endedAt = emitPeriod(subscription, { from, to: monthsAfter(anchor, months) }, period);
    if (endedAt !== null) return { subscription, endedAt };
  }
  return { subscription, endedAt: null };
}

function newTerms(chance: Chance): Terms {
  const plan = chance.weighted(newPlans);
  const seats = chance.whole(1, Math.ceil(plan.seatsMax / 2));
  return { plan, interval: chance.happens(percent.yearly) ? "year" : "month", seats };
}

/** Many begin `incomplete`: their first payment is confirmed a moment later. */
function begin(
  customer: Customer,
  at: number,
  terms: Terms,
  coupon: Coupon | null,
  trialEndAt: number | null,
): Subscription {
  if (trialEndAt !== null) {
    return new Subscription(customer, at, { status: "trialing", terms }, coupon, trialEndAt);
  }
  if (!customer.chance.happens(percent.incompleteFirst)) {
    return new Subscription(customer, at, { status: "active", terms }, coupon);
  }
  const subscription = new Subscription(customer, at, { status: "incomplete", terms }, coupon);
  subscription.change(at + 2 * secondMs, { status: "active" });
  return subscription;
}

interface Period {
  readonly from: number;
  readonly to: number;
}

/** @returns when the subscription ended, null when it goes on */
function emitPeriod(subscription: Subscription, period: Period, index: number): number | null {
  const { customer } = subscription;
  const { chance } = customer;
  const { from, to } = period;
  let paidAt = from;
  if (index > 0) {
    lessen(subscription, from);
    if (chance.happens(percent.pastDue)) {
      subscription.change(from + hourMs, { status: "past_due" });
      if (!chance.happens(percent.pastDueRecovers)) {
        subscription.end(from + retriesEndAfterMs);
        return from + retriesEndAfterMs;
      }
      paidAt = later(chance, from + dayMs, from + 7 * dayMs);
    }
  }
  const reason = index === 0 ? "subscription_create" : "subscription_cycle";
  emitFate(customer, subscription.pay(paidAt, reason));
  if (paidAt > from) subscription.change(paidAt, { status: "active" });

  const yearly = subscription.terms.interval === "year";
  if (chance.happens(yearly ? percent.cancelsYearly : percent.cancelsMonthly)) {
    const at = later(chance, from + 8 * dayMs, to);
    if (chance.happens(percent.cancelsAtOnce)) {
      subscription.end(at);
      return at;
    }
    subscription.change(at, { cancelAtPeriodEnd: true });
    subscription.end(to);
    return to;
  }
  if (chance.happens(percent.changesTerms)) {
    const at = later(chance, from + 8 * dayMs, to);
    const terms = moreThan(subscription.terms, chance);
    if (terms !== null) emitFate(customer, subscription.prorate(at, terms, period));
  }
  return null;
}

/** A bigger plan or more seats; null when there is none. */
export function moreThan(terms: Terms, chance: Chance): Terms | null {
  const { plan, seats } = terms;
  const next = plans[plans.indexOf(plan) + 1];
  if (next !== undefined && chance.happens(percent.nextPlan)) {
    return { ...terms, plan: next, seats: Math.min(seats, next.seatsMax) };
  }
  const added = Math.min(plan.seatsMax - seats, chance.whole(1, seatsAddedMax));
  return added > 0 ? { ...terms, seats: seats + added } : null;
}

/** With a renewal, so that nothing is credited. */
function lessen(subscription: Subscription, at: number): void {
  const { chance } = subscription.customer;
  const terms = chance.happens(percent.changesTerms / 2) ? lessThan(subscription.terms) : null;
  if (terms !== null) subscription.change(at, { terms });
}

/** Fewer seats or a smaller plan; null when there is none. */
export function lessThan(terms: Terms): Terms | null {
  const { plan, seats } = terms;
  if (seats > 1) return { ...terms, seats: Math.ceil(seats / 2) };
  const smaller = plans[plans.indexOf(plan) - 1];
  return smaller === undefined ? null : { ...terms, plan: smaller };
}

/** A few payments come back, whole, in part or by a dispute. */
function emitFate(customer: Customer, payment: Payment | null): void {
  if (payment === null) return;
  const { chance } = customer;
  const { at, amount } = payment;
  const soon = later(chance, at + hourMs, at + 20 * dayMs);
  if (chance.happens(percent.refundedWhole)) {
    emitRefund(customer, payment, soon, amount);
  } else if (chance.happens(percent.refundedInPart)) {
    emitRefund(customer, payment, soon, amount / BigInt(chance.whole(2, 5)));
  } else if (chance.happens(percent.disputed)) {
    const closedAt = soon + chance.whole(20, 60) * dayMs;
    const isWon = chance.happens(percent.disputeWon);
    emitDispute(customer, payment, soon, { at: closedAt, isWon });
  }
}

/** A whole second from one moment on and before another. */
function later(chance: Chance, from: number, to: number): number {
  return Math.min(wholeSecond(from + chance.unit() * (to - from)) + secondMs, to - secondMs);
}
