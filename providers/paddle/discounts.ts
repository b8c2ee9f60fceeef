/** Recurring discounts: what they take off a period of a subscription. */
import { z } from "zod";
import { fraction, parseFraction } from "../../schemas/money/monthly.js";
import { priceText } from "../fields.js";
import { rejected, type Unreported } from "../outcomes.js";
import type { KeptObject } from "../provider.js";
import { factorOf, type Reduction } from "../reductions.js";
import { field } from "./event.js";

export const discountShape = z.object({
  id: field.id,
  type: z.enum(["percentage", "flat", "flat_per_seat"]),
  /** A percentage, or minor units of `currency_code`. */
  amount: priceText,
  currency_code: z.string().nullish(),
  recur: z.boolean().nullish(),
  restrict_to: z.array(z.string()).nullish(),
});
export type Discount = z.output<typeof discountShape>;

/** What later subscriptions name by its id only; what it is for is the merchant's own business. */
export function keptDiscount(data: unknown, reportedAt: number): KeptObject[] {
  const discount = discountShape.safeParse(data);
  if (!discount.success) return [];
  return [{ id: discount.data.id, reportedAt, refers: [], object: discount.data }];
}

/** An item a discount may cover, distinguished by its price. */
export interface Covered {
  readonly price: string;
  readonly productId: string;
  readonly quantity: bigint;
  readonly currency: string;
}

/**
 * The part of each item (percentage), so much of each seat, or so much of the whole. In the order
 * of the items; `whole` is shared out over all that are covered.
 * @param endsAt from then on it no longer applies, ms since 1970; null: for ever
 */
export function readReductions(
  discount: Discount,
  items: readonly Covered[],
  endsAt: number | null,
): { whole: Reduction[]; own: Reduction[][] } | Unreported {
  const only = discount.restrict_to ?? null;
  const covers = ({ price, productId }: Covered): boolean =>
    only === null || only.includes(price) || only.includes(productId);
  const products = items.filter(covers).map(({ price }) => price);
  const none = { whole: [], own: items.map(() => []) };
  const amount = parseFraction(discount.amount);
  if (discount.recur === false || amount === null || products.length === 0) return none;
  if (discount.type === "percentage") {
    return { ...none, whole: [{ endsAt, products, factor: factorOf(amount), amountOff: 0n }] };
  }
  const currency = items[0]?.currency ?? "";
  if (discount.currency_code !== currency || amount.denominator !== 1n) {
    const detail = `What a discount in another currency is worth in ${currency} is not reported`;
    return rejected("discount_unclear", detail);
  }
  const off = { endsAt, products, factor: fraction(1n) };
  if (discount.type === "flat") {
    return { ...none, whole: [{ amountOff: amount.numerator, ...off }] };
  }
  const own = items.map((item) =>
    covers(item) ? [{ amountOff: amount.numerator * item.quantity, ...off }] : [],
  );
  return { whole: [], own };
}
