/** What a subscription item costs for one of its periods. */
import { z } from "zod";
import {
  type BillingPeriod,
  type Fraction,
  fraction,
  multiplyFractions,
  parseFraction,
} from "../../schemas/money/monthly.js";
import { priceText } from "../fields.js";
import { tieredAmount } from "../tiers.js";
import { field } from "./event.js";

/** Integer and decimal text report one amount; the text has the fractions of a minor unit. */
const decimal = priceText.nullish();
const wholeUnits = z.int().nonnegative().nullish();
const interval = z.enum(["day", "week", "month", "year"]);
const count = z.int().positive().nullish();
const transform = z
  .object({ divide_by: z.int().positive(), round: z.enum(["up", "down"]) })
  .nullish();

const tierShape = z.object({
  up_to: z.int().nonnegative().nullish(),
  unit_amount: wholeUnits,
  unit_amount_decimal: decimal,
  flat_amount: wholeUnits,
  flat_amount_decimal: decimal,
});
const tiersOfPrice = {
  billing_scheme: z.string().nullish(),
  tiers: z.array(tierShape).nullish(),
  tiers_mode: z.string().nullish(),
};

/** In another currency than the price's own. */
const optionShape = z.object({
  unit_amount: wholeUnits,
  unit_amount_decimal: decimal,
  tiers: tiersOfPrice.tiers,
});

export const priceShape = z.object({
  id: z.string().nullish(),
  currency: field.currency,
  product: field.reference,
  unit_amount: wholeUnits,
  unit_amount_decimal: decimal,
  transform_quantity: transform,
  recurring: z
    .object({ interval, interval_count: count, usage_type: z.string().nullish() })
    .nullish(),
  currency_options: z.record(z.string(), optionShape).nullish(),
  ...tiersOfPrice,
});
export type Price = z.output<typeof priceShape>;

/** What prices were called before 2020: the same fields under other names. */
export const planShape = z
  .object({
    id: z.string().nullish(),
    currency: field.currency,
    product: field.reference,
    amount: wholeUnits,
    amount_decimal: decimal,
    transform_usage: transform,
    interval,
    interval_count: count,
    usage_type: z.string().nullish(),
    ...tiersOfPrice,
  })
  .transform((plan): Price => ({
    unit_amount: plan.amount,
    unit_amount_decimal: plan.amount_decimal,
    transform_quantity: plan.transform_usage,
    recurring: plan,
    ...plan,
  }));

/**
 * A price may have amounts in several currencies. It shows that in its own; which one is charged
 * says the subscription. Source: docs.stripe.com/products-prices/how-products-and-prices-work,
 * "Multiple currencies".
 *
 * @param currency of the subscription; null before API versions reported it
 * @returns null when the price does not report (options are left out of events unless expanded)
 */
export function priceIn(price: Price, currency: string | null): Price | null {
  if (currency === null || price.currency === currency) return price;
  const option = price.currency_options?.[currency.toLowerCase()];
  if (option === undefined) return null;
  const { unit_amount, unit_amount_decimal, tiers: tiersIn } = option;
  return { ...price, currency, unit_amount, unit_amount_decimal, tiers: tiersIn };
}

/** @returns null for what is no part of MRR: one-off items and metered usage */
export function periodOf(price: Price): BillingPeriod | null {
  const { recurring } = price;
  if (!recurring || recurring.usage_type === "metered") return null;
  return { interval: recurring.interval, intervalCount: BigInt(recurring.interval_count ?? 1) };
}

/**
 * @returns Stripe's minor units for one period, before discounts; null when the price does not
 *   report (tiers are left out of events unless somebody expanded them)
 */
export function periodAmount(price: Price, quantity: bigint): Fraction | null {
  const billed = billedQuantity(price, quantity);
  if (price.billing_scheme === "tiered") {
    const tiers = price.tiers?.map((tier) => ({
      upTo: typeof tier.up_to === "number" ? BigInt(tier.up_to) : null,
      unit: amountOf(tier.unit_amount_decimal, tier.unit_amount),
      flat: amountOf(tier.flat_amount_decimal, tier.flat_amount),
    }));
    return tiers ? tieredAmount(tiers, price.tiers_mode === "volume", billed) : null;
  }
  const unit = amountOf(price.unit_amount_decimal, price.unit_amount);
  return unit && multiplyFractions(unit, fraction(billed));
}

/** Packages: so many units count as one. */
function billedQuantity(price: Price, quantity: bigint): bigint {
  const packages = price.transform_quantity;
  if (!packages) return quantity;
  const size = BigInt(packages.divide_by);
  return packages.round === "up" ? (quantity + size - 1n) / size : quantity / size;
}

function amountOf(text: string | null | undefined, whole: number | null | undefined) {
  if (typeof text === "string") return parseFraction(text);
  return typeof whole === "number" ? fraction(BigInt(whole)) : null;
}
