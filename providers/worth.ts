/** What a subscription is worth from a moment on, as every adapter reports it. */
import { isMonthlyWithinBounds } from "../schemas/bounds.js";
import { type BillingPeriod, type Fraction, monthlyFraction } from "../schemas/money/monthly.js";
import { planIntervalOf } from "../schemas/money/plan-intervals.js";
import type { FactBody, Item } from "../schemas/records/records.js";
import { rejected, type Unreported } from "./outcomes.js";
import type { Reduction } from "./reductions.js";

export type SubscriptionFact = Extract<FactBody, { Subscription: unknown }>["Subscription"];
export type Worth = Pick<SubscriptionFact, "currency" | "steps" | "trial">;

export function nothingFrom(at: number): Worth {
  return { currency: "", steps: [{ at, items: [] }] };
}

/** A free trial, which counts nothing. */
export function trialFrom(at: number): Worth {
  return { ...nothingFrom(at), trial: true };
}

export function worthOf(currency: string, steps: Worth["steps"]): Worth | Unreported {
  const items = steps.flatMap((step) => step.items);
  if (!items.every(isMonthlyWithinBounds)) {
    return rejected("price_too_precise", "a monthly price beyond 64 bits");
  }
  return { currency: items.length === 0 ? "" : currency, steps };
}

/**
 * None where it is free: that changes no figure, and needs no rate.
 * @param amount of one period, of one minor unit
 */
export function monthlyItem(
  item: string,
  product: string,
  amount: Fraction,
  period: BillingPeriod,
): Item[] {
  const { numerator, denominator } = monthlyFraction(amount, period);
  if (numerator === 0n) return [];
  return [
    {
      item,
      external_id: product,
      monthly_numerator: numerator,
      monthly_denominator: denominator,
      plan_interval: planIntervalOf(period),
    },
  ];
}

/** When the worth begins, and when discounts end after that. */
export function timesFrom(at: number, reductions: readonly Reduction[]): number[] {
  const ends = reductions.flatMap(({ endsAt }) => (endsAt !== null && endsAt > at ? [endsAt] : []));
  return [at, ...new Set(ends)].sort((one, other) => one - other);
}
