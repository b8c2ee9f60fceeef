/** What one period of a subscription costs, by the price object the API answers. */
import { z } from "zod";
import {
  type Fraction,
  fraction,
  multiplyFractions,
  parseFraction,
  subtractFractions,
} from "../../schemas/money/monthly.js";
import { priceText } from "../fields.js";
import { type Tier, tieredAmount } from "../tiers.js";

/** Whole cents, or decimal text where a price has fractions of one. */
const unitPrice = {
  unit_price: z.int().nonnegative().nullish(),
  unit_price_decimal: priceText.nullish(),
};

export const priceShape = z.object({
  scheme: z.string().nullish(),
  usage_aggregation: z.string().nullish(),
  ...unitPrice,
  package_size: z.int().positive().nullish(),
  tiers: z
    .array(
      z.object({
        last_unit: z.union([z.int(), z.literal("inf"), z.string().regex(/^\d+$/)]),
        ...unitPrice,
        fixed_fee: z.int().nonnegative().nullish(),
      }),
    )
    .nullish(),
  renewal_interval_unit: z.enum(["day", "week", "month", "year"]).nullish(),
  renewal_interval_quantity: z.int().positive().nullish(),
});
export type Price = z.output<typeof priceShape>;

/** @returns minor units before discounts; null when the price does not report */
export function periodAmount(price: Price, quantity: bigint): Fraction | null {
  switch (price.scheme ?? "standard") {
    case "volume":
    case "graduated":
      return price.tiers
        ? tieredAmount(price.tiers.map(tierOf), price.scheme === "volume", quantity)
        : null;
    case "package": {
      const size = BigInt(price.package_size ?? 1);
      return times(unitAmount(price), (quantity + size - 1n) / size);
    }
    case "standard":
      return times(unitAmount(price), quantity);
    default:
      return null;
  }
}

/**
 * A price at another amount, which a checkout set for it.
 * @param unit minor units that were charged for one: less than one off the price is its rounding
 */
export function agreedPrice(price: Price, unit: number): Price {
  const listed = unitAmount(price);
  if ((price.scheme ?? "standard") !== "standard" || listed === null) return price;
  const { numerator, denominator } = subtractFractions(fraction(BigInt(unit)), listed);
  const isRounding = numerator < denominator && numerator > -denominator;
  return isRounding ? price : { ...price, unit_price: unit, unit_price_decimal: null };
}

function tierOf(tier: NonNullable<Price["tiers"]>[number]): Tier {
  return {
    upTo: tier.last_unit === "inf" ? null : BigInt(tier.last_unit),
    unit: unitAmount(tier),
    flat: fraction(BigInt(tier.fixed_fee ?? 0)),
  };
}

function unitAmount(price: Pick<Price, "unit_price" | "unit_price_decimal">): Fraction | null {
  if (typeof price.unit_price_decimal === "string") return parseFraction(price.unit_price_decimal);
  return typeof price.unit_price === "number" ? fraction(BigInt(price.unit_price)) : null;
}

function times(amount: Fraction | null, count: bigint): Fraction | null {
  return amount && multiplyFractions(amount, fraction(count));
}
