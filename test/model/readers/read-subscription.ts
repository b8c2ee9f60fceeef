/** What a Stripe subscription is worth a month, read from one snapshot (`definitions.md`, MRR). */
import type { BareFact, Item, Phase } from "../facts.js";
import {
  type Fraction,
  fraction,
  fractionOfText,
  isLess,
  minus,
  one,
  over,
  plus,
  times,
  truncated,
  zero,
} from "../fraction.js";
import { at, idOf, list, must, number, text } from "./json.js";
import { currencyOf, minorOf, seconds } from "./stripe-values.js";

export function readSubscription(event: unknown, subscription: unknown): BareFact[] {
  const phase = phaseOf(event, subscription);
  const from = begin(event, subscription, phase);
  const isActive =
    phase !== "ended" &&
    ["active", "past_due"].includes(text(subscription, "status") ?? "") &&
    at(subscription, "pause_collection") === undefined;
  const moments = isActive
    ? [from, ...discountEnds(subscription).filter((end) => end > from)]
    : [from];
  const connected = text(event, "account");
  const prefix = connected === null ? "" : `${connected}:`;
  return [
    {
      kind: "change",
      subscription: must(text(subscription, "id"), "a subscription id"),
      account: prefix + must(idOf(subscription, "customer"), "a customer"),
      phase,
      currency: currencyOf(subscription),
      steps: [...new Set(moments)]
        .sort((a, b) => a - b)
        .map((time) => ({ at: time, items: isActive ? itemsAt(subscription, time) : [] })),
    },
  ];
}

function phaseOf(event: unknown, subscription: unknown): Phase {
  const type = text(event, "type");
  if (type === "customer.subscription.created") return "started";
  const isNever = text(subscription, "status") === "incomplete_expired";
  return type === "customer.subscription.deleted" || isNever ? "ended" : "changed";
}

/** From when the snapshot counts. */
function begin(event: unknown, subscription: unknown, phase: Phase): number {
  const created = seconds(subscription, "created");
  const reported = seconds(event, "created");
  if (phase === "started") return created;
  if (phase === "ended") {
    return number(subscription, "ended_at") === null ? reported : seconds(subscription, "ended_at");
  }
  const before = text(event, "data", "previous_attributes", "status");
  if (before === "incomplete") return created;
  const trialEnd = number(subscription, "trial_end");
  if (before === "trialing" && trialEnd !== null && trialEnd * 1000 <= reported)
    return trialEnd * 1000;
  // What is reported while an end is overdue is of the time before that.
  const isOnTrial = text(subscription, "status") === "trialing";
  const ends = [isOnTrial ? trialEnd : null, number(subscription, "cancel_at")];
  return Math.min(reported, ...ends.flatMap((end) => (end === null ? [] : end * 1000 - 1)));
}

/** A recurring discount; a one-time coupon never changes MRR. */
interface Discount {
  readonly percentOff: Fraction | null;
  readonly amountOff: Fraction;
  /** ms since 1970; null: for ever. */
  readonly end: number | null;
}

function discountsOf(holder: unknown, currency: string): Discount[] {
  const single = at(holder, "discount");
  const all = list(holder, "discounts");
  return (all.length > 0 ? all : single === undefined ? [] : [single]).flatMap((discount) => {
    const coupon = at(discount, "coupon") ?? at(discount, "source", "coupon");
    if (text(coupon, "duration") === "once") return [];
    const percent = number(coupon, "percent_off");
    const amount = number(coupon, "amount_off");
    const end = number(discount, "end");
    return [
      {
        percentOff: percent === null ? null : fractionOfText(String(percent)),
        amountOff: amount === null ? zero : fraction(minorOf(amount, currency)),
        end: end === null ? null : end * 1000,
      },
    ];
  });
}

function discountEnds(subscription: unknown): number[] {
  return [subscription, ...list(subscription, "items", "data")]
    .flatMap((holder) => discountsOf(holder, currencyOf(subscription)))
    .flatMap((discount) => discount.end ?? []);
}

function itemsAt(subscription: unknown, time: number): Item[] {
  const currency = currencyOf(subscription);
  const isOn = (discount: Discount) => discount.end === null || discount.end > time;
  const items = list(subscription, "items", "data").filter(isLicensed);
  let worth = items.map((item) => {
    const quantity = fraction(BigInt(number(item, "quantity") ?? 1));
    const full = times(unitAmount(item, currency), quantity);
    return discountsOf(item, currency).filter(isOn).reduce(discountedAlone, full);
  });
  for (const discount of discountsOf(subscription, currency).filter(isOn)) {
    worth = discountedTogether(worth, discount);
  }
  return items.map((item, index) => ({
    item: must(text(item, "id"), "an item id"),
    sku: must(idOf(priceOf(item), "product"), "a product"),
    monthly: times(worth[index] ?? zero, perMonth(item)),
  }));
}

function priceOf(item: unknown): unknown {
  return at(item, "price") ?? at(item, "plan");
}

function isLicensed(item: unknown): boolean {
  const recurring = at(item, "price", "recurring") ?? at(item, "plan");
  return recurring !== undefined && text(recurring, "usage_type") !== "metered";
}

function unitAmount(item: unknown, currency: string): Fraction {
  const price = priceOf(item);
  const exact = text(price, "unit_amount_decimal") ?? text(price, "amount_decimal");
  const whole = number(price, "unit_amount") ?? number(price, "amount");
  const sent = fractionOfText(exact ?? String(must(whole, "a unit amount")));
  return currency === "ISK" ? over(sent, fraction(100n)) : sent;
}

function perMonth(item: unknown): Fraction {
  const recurring = at(item, "price", "recurring") ?? at(item, "plan");
  return monthsFactor(
    must(text(recurring, "interval"), "an interval"),
    number(recurring, "interval_count") ?? 1,
  );
}

/** What one period's amount is multiplied with to be a month's. */
export function monthsFactor(interval: string, intervalCount: number): Fraction {
  const factors: Record<string, Fraction> = {
    month: one,
    year: fraction(1n, 12n),
    week: fraction(52n, 12n),
    day: fraction(365n, 12n),
  };
  return over(must(factors[interval], `the interval ${interval}`), fraction(BigInt(intervalCount)));
}

function discountedAlone(amount: Fraction, discount: Discount): Fraction {
  return discountedTogether([amount], discount)[0] ?? zero;
}

/** A percentage of each; an amount pro rata in whole minor units, the remainder to the largest. */
function discountedTogether(amounts: readonly Fraction[], discount: Discount): Fraction[] {
  const { percentOff, amountOff } = discount;
  if (percentOff !== null) {
    const kept = minus(one, over(percentOff, fraction(100n)));
    return amounts.map((amount) => times(amount, kept));
  }
  const sum = amounts.reduce(plus, zero);
  if (!isLess(amountOff, sum)) return amounts.map(() => zero);
  const shares = amounts.map((amount) => fraction(truncated(over(times(amountOff, amount), sum))));
  const rest = minus(amountOff, shares.reduce(plus, zero));
  const largest = amounts.reduce((best, a, i) => (isLess(amounts[best] ?? zero, a) ? i : best), 0);
  return amounts.map((amount, i) =>
    minus(amount, plus(shares[i] ?? zero, i === largest ? rest : zero)),
  );
}
