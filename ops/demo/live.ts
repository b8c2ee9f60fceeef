/**
 * What happens after the history, one thing after another. It has customers of its own, so that a
 * run needs to know nothing of what earlier runs did.
 */
import { createHash } from "node:crypto";
import { monthsAfter, secondMs, wholeSecond } from "./calendar.js";
import type { Chance, Weighted } from "./chance.js";
import { Customer } from "./customer.js";
import { plans } from "./catalogue.js";
import { lessThan, moreThan } from "./history.js";
import { type LiveMember, endMembership, sellByOtherProvider } from "./other-providers.js";
import { Journal, type Reported } from "./journal.js";
import { type Payment, emitDispute, emitRefund, emitWorkshop } from "./payments.js";
import { Subscription, type Terms } from "./subscription.js";

/** From here on as many cancel as come: the business keeps the level that its history reached. */
const subscribersMax = 8;
const membersMax = 4;
/** Payments that may still be refunded; older ones are left alone. */
const refundableMax = 20;

const happenings = [
  [18, "signUp"],
  [1, "workshop"],
  [12, "elsewhere"],
  [12, "more"],
  [12, "less"],
  [26, "lapse"],
  [5, "refund"],
  [1, "dispute"],
  [13, "cancel"],
] as const satisfies readonly Weighted<string>[];
type Happening = (typeof happenings)[number][1];

/** What is sold in minutes must not dwarf what was sold in days. */
const smallTerms: Terms = { plan: plans[0], interval: "month", seats: 1 };

/** More than a run sells, so that two runs share no number. */
const numbersPerRun = 100_000;

interface Active {
  readonly subscription: Subscription;
  readonly customer: Customer;
  /** ms since 1970; one change a second, as events date changes by the second. */
  changedAt: number;
  isPastDue: boolean;
}

interface Refundable {
  readonly customer: Customer;
  readonly payment: Payment;
}

export class LiveBusiness {
  readonly journal = new Journal(Infinity);
  readonly #active: Active[] = [];
  readonly #refundable: Refundable[] = [];
  #customers = 0;
  readonly #members: LiveMember[] = [];
  /** Where the numbers of this run begin. */
  readonly #numbers: number;

  /** @param tag unique among the runs on a workspace */
  constructor(
    readonly tag: string,
    readonly chance: Chance,
  ) {
    const digest = createHash("sha256").update(tag).digest();
    this.#numbers = digest.readUInt32LE(0) * numbersPerRun;
  }

  get subscribers(): number {
    return this.#active.length + this.#members.length;
  }

  /**
   * Lets one thing happen.
   * @param now ms since 1970
   * @returns the events that report it
   */
  next(now: number): Reported[] {
    const at = wholeSecond(now);
    const drawn = this.chance.weighted(happenings);
    const isFull = this.#active.length >= subscribersMax;
    this.#happen(drawn === "signUp" && isFull ? "cancel" : drawn, at);
    if (this.journal.reported.length === 0) this.#happen("elsewhere", at);
    return this.journal.reported.splice(0);
  }

  #happen(what: Happening, at: number): void {
    const isOfPayment = what === "refund" || what === "dispute";
    if (what === "signUp") this.#signUp(at);
    else if (what === "workshop") this.#buyWorkshop(at);
    else if (what === "elsewhere") this.#buyFromOtherProvider(at);
    else if (isOfPayment) this.#takeBack(what, at);
    else this.#change(what, at);
  }

  #signUp(at: number): void {
    const customer = this.#newCustomer(at);
    const terms = smallTerms;
    const subscription = new Subscription(customer, at, { status: "active", terms });
    this.#keep(customer, subscription.pay(at, "subscription_create"));
    this.#active.push({ subscription, customer, changedAt: at, isPastDue: false });
  }

  #buyWorkshop(at: number): void {
    const customer = this.#newCustomer(at);
    this.#keep(customer, emitWorkshop(customer, at));
  }

  /** At another provider; when there are enough members there, the first of them leaves. */
  #buyFromOtherProvider(at: number): void {
    if (this.#members.length >= membersMax) {
      const first = this.#members.shift();
      if (first !== undefined) endMembership(this.journal, first, at);
      return;
    }
    this.#customers += 1;
    const who = {
      tag: `${this.tag}x${this.#customers}`,
      number: this.#numbers + this.#customers,
    };
    const member = sellByOtherProvider(this.journal, who, at, this.chance);
    if (member !== null) this.#members.push(member);
  }

  #takeBack(what: "refund" | "dispute", at: number): void {
    const index = this.chance.whole(0, this.#refundable.length - 1);
    const [taken] = this.#refundable.splice(index, 1);
    if (taken === undefined) return;
    const { customer, payment } = taken;
    if (what === "dispute") emitDispute(customer, payment, at, null);
    else emitRefund(customer, payment, at, payment.amount / BigInt(this.chance.whole(1, 2)));
  }

  #change(what: "more" | "less" | "lapse" | "cancel", at: number): void {
    const free = this.#active.filter(({ changedAt }) => changedAt <= at - secondMs);
    const active = free[this.chance.whole(0, free.length - 1)];
    if (active === undefined) return;
    const { subscription, customer } = active;
    active.changedAt = at;
    if (what === "cancel") {
      subscription.end(at);
      this.#active.splice(this.#active.indexOf(active), 1);
    } else if (what === "lapse") {
      active.isPastDue = !active.isPastDue;
      subscription.change(at, { status: active.isPastDue ? "past_due" : "active" });
    } else if (what === "less") {
      const terms = lessThan(subscription.terms);
      if (terms !== null) subscription.change(at, { terms });
    } else {
      const terms = moreThan(subscription.terms, this.chance);
      const from = subscription.createdAt;
      const period = { from, to: monthsAfter(from, subscription.monthsPerPeriod) };
      if (terms === null || at >= period.to) return;
      this.#keep(customer, subscription.prorate(at, terms, period));
    }
  }

  #newCustomer(at: number): Customer {
    this.#customers += 1;
    const customer = new Customer(`${this.tag}_${this.#customers}`, this.journal, this.chance);
    customer.introduce(at);
    return customer;
  }

  #keep(customer: Customer, payment: Payment | null): void {
    if (payment === null) return;
    this.#refundable.push({ customer, payment });
    if (this.#refundable.length > refundableMax) this.#refundable.shift();
  }
}
