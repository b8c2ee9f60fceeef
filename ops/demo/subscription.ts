/** A subscription: its terms, and the snapshots and invoices that report it. */
import {
  discountObject,
  type JsonObject,
  priceObject,
  subscriptionObject,
} from "../payloads/stripe.js";
import { monthsAfter } from "./calendar.js";
import { type Interval, type Plan, priceOf, yearInMonths } from "./catalogue.js";
import type { Customer } from "./customer.js";
import { type Line, type Payment, type Sale, emitSale } from "./payments.js";

export interface Terms {
  readonly plan: Plan;
  readonly interval: Interval;
  readonly seats: number;
}

export interface Coupon {
  readonly percentOff: number;
  /** `repeating` runs for three months, as `discountObject` says. */
  readonly duration: "once" | "repeating" | "forever";
}
const repeatingMonths = 3;

interface State {
  readonly status: "incomplete" | "trialing" | "active" | "past_due" | "canceled";
  readonly terms: Terms;
  readonly cancelAtPeriodEnd: boolean;
}

export class Subscription {
  readonly id: string;
  readonly #item: string;
  readonly #discount: string;
  #state: State;
  #endedAt: number | null = null;
  #isPaid = false;

  /** Reports that it began. All times are ms since 1970. */
  constructor(
    readonly customer: Customer,
    readonly createdAt: number,
    start: Pick<State, "status" | "terms">,
    readonly coupon: Coupon | null = null,
    readonly trialEndAt: number | null = null,
  ) {
    this.id = customer.newId("sub");
    this.#item = customer.newId("si");
    this.#discount = customer.newId("di");
    this.#state = { ...start, cancelAtPeriodEnd: false };
    customer.report("customer.subscription.created", createdAt, this.#snapshot());
  }

  get terms(): Terms {
    return this.#state.terms;
  }

  /** Whether it is part of MRR. */
  get isWorth(): boolean {
    return this.#state.status === "active" || this.#state.status === "past_due";
  }

  get monthsPerPeriod(): number {
    return this.terms.interval === "year" ? yearInMonths : 1;
  }

  /** What lies after the end of the journal does not happen. */
  change(at: number, changes: Partial<State>): void {
    if (this.customer.journal.isOver(at)) return;
    const before = this.#snapshot();
    this.#state = { ...this.#state, ...changes };
    const previous: JsonObject = {
      ...(changes.status === undefined ? {} : { status: before["status"] ?? null }),
      ...(changes.terms === undefined ? {} : { items: before["items"] ?? null }),
      ...(changes.cancelAtPeriodEnd === undefined
        ? {}
        : { cancel_at_period_end: before["cancel_at_period_end"] ?? null }),
    };
    this.customer.report("customer.subscription.updated", at, this.#snapshot(), previous);
  }

  end(at: number): void {
    if (this.customer.journal.isOver(at)) return;
    const reason = this.#state.status === "past_due" ? "payment_failed" : "cancellation_requested";
    this.#state = { ...this.#state, status: "canceled" };
    this.#endedAt = at;
    const object = { ...this.#snapshot(), cancellation_details: { reason } };
    this.customer.report("customer.subscription.deleted", at, object);
  }

  /** One period in advance. */
  pay(at: number, reason: Sale["reason"]): Payment | null {
    const payment = this.#invoice(at, reason, [this.#line(this.terms, at)]);
    if (payment !== null) this.#isPaid = true;
    return payment;
  }

  /** Other terms from now on; the rest of the period is credited and charged anew. */
  prorate(at: number, terms: Terms, period: { from: number; to: number }): Payment | null {
    if (at < period.from || at >= period.to) throw new Error("not within the period");
    const rest = (line: Line): Line => ({
      ...line,
      amount: (line.amount * BigInt(period.to - at)) / BigInt(period.to - period.from),
      discount: (line.discount * BigInt(period.to - at)) / BigInt(period.to - period.from),
    });
    const unused = rest(this.#line(this.terms, at));
    this.change(at, { terms });
    const credit = { ...unused, amount: unused.discount - unused.amount, discount: 0n };
    return this.#invoice(at, "subscription_update", [credit, rest(this.#line(terms, at))]);
  }

  #invoice(at: number, reason: Sale["reason"], lines: Line[]): Payment | null {
    return emitSale(this.customer, { at, lines, subscription: this.id, reason });
  }

  #line({ plan, interval, seats }: Terms, at: number): Line {
    const amount = priceOf(plan, interval, this.customer.currency) * BigInt(seats);
    const percentOff = this.#couponAt(at)?.percentOff ?? 0;
    const discount = (amount * BigInt(percentOff)) / 100n;
    const price = this.#priceId(plan, interval);
    return { product: plan.product, price, quantity: seats, amount, discount };
  }

  #couponAt(at: number): Coupon | null {
    if (this.coupon?.duration === "once") return this.#isPaid ? null : this.coupon;
    return at < (this.#couponEndsAt ?? Infinity) ? this.coupon : null;
  }

  get #couponEndsAt(): number | null {
    const ends = this.coupon?.duration === "repeating";
    return ends ? monthsAfter(this.createdAt, repeatingMonths) : null;
  }

  #priceId(plan: Plan, interval: Interval): string {
    return `price_${plan.product}_${interval}_${this.customer.currency.toLowerCase()}`;
  }

  #snapshot(): JsonObject {
    const { plan, interval, seats } = this.terms;
    const { currency, version } = this.customer;
    const isSpent = this.coupon?.duration === "once" && this.#isPaid;
    const price = priceObject({
      id: this.#priceId(plan, interval),
      product: plan.product,
      currency,
      unitAmount: priceOf(plan, interval, currency),
      interval,
    });
    return subscriptionObject({
      id: this.id,
      customer: this.customer.id,
      currency,
      status: this.#state.status,
      createdAt: this.createdAt,
      items: [{ id: this.#item, price, quantity: seats }],
      version,
      discounts: this.coupon === null || isSpent ? [] : [this.#discountObject(this.coupon)],
      trialEndAt: this.trialEndAt,
      endedAt: this.#endedAt,
      cancelAtPeriodEnd: this.#state.cancelAtPeriodEnd,
    });
  }

  #discountObject({ percentOff, duration }: Coupon): JsonObject {
    return discountObject({
      id: this.#discount,
      percentOff,
      duration,
      startAt: this.createdAt,
      endAt: this.#couponEndsAt,
      version: this.customer.version,
    });
  }
}
