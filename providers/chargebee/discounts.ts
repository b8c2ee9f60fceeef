/** Recurring discounts of a subscription: its own, and coupons, which it only names. */
import { z } from "zod";
import { fraction, parseFraction } from "../../schemas/money/monthly.js";
import { rejected, type Unreported } from "../outcomes.js";
import { factorOf, type Reduction } from "../reductions.js";
import { field } from "./event.js";

const terms = {
  currency_code: z.string().nullish(),
  duration_type: z.enum(["one_time", "forever", "limited_period"]),
};

/** As a subscription lists its own. */
export const ownDiscountShape = z.object({
  ...terms,
  type: z.enum(["fixed_amount", "percentage", "offer_quantity"]),
  percentage: z.number().nullish(),
  amount: field.amount.nullish(),
  apply_on: z.enum(["invoice_amount", "specific_item_price"]),
  item_price_id: field.id.nullish(),
  apply_till: field.time.nullish(),
  coupon_id: z.string().nullish(),
});

export const couponShape = z.object({
  ...terms,
  id: field.id,
  discount_type: z.enum(["fixed_amount", "percentage", "offer_quantity"]),
  discount_percentage: z.number().nullish(),
  discount_amount: field.amount.nullish(),
  apply_on: z.enum(["invoice_amount", "each_specified_item"]),
  item_constraints: z
    .array(
      z.object({
        item_type: z.string(),
        constraint: z.enum(["none", "all", "specific", "criteria"]),
        item_price_ids: z.array(z.string()).nullish(),
      }),
    )
    .nullish(),
});
export type Coupon = z.output<typeof couponShape>;

/** An item a discount may cover. */
export interface Covered {
  readonly price: string;
  readonly type: string;
}

/** Either of the whole, or of each item that it covers. */
export interface Discounts {
  readonly whole: Reduction[];
  readonly own: Reduction[][];
}

interface Discount {
  readonly type: "fixed_amount" | "percentage" | "offer_quantity";
  readonly percentage: number | null | undefined;
  readonly amount: bigint | null | undefined;
  readonly currency: string | null | undefined;
  readonly endsAt: number | null;
  /** Null: the whole. */
  readonly covers: ((item: Covered) => boolean) | null;
}

/** Discounts of one time do not change MRR; null: it is one. */
export function ownDiscount(own: z.output<typeof ownDiscountShape>): Discount | null {
  if (own.duration_type === "one_time") return null;
  const { item_price_id: only } = own;
  return {
    type: own.type,
    percentage: own.percentage,
    amount: own.amount,
    currency: own.currency_code,
    endsAt: own.apply_till ?? null,
    covers: own.apply_on === "invoice_amount" ? null : ({ price }) => price === only,
  };
}

/** @param endsAt as the subscription says */
export function couponDiscount(
  coupon: Coupon,
  endsAt: number | null,
): Discount | Unreported | null {
  if (coupon.duration_type === "one_time") return null;
  const constraints = coupon.item_constraints ?? [];
  if (constraints.some(({ constraint }) => constraint === "criteria")) {
    return rejected("discount_unclear", "A coupon covers items by criteria, which are not read");
  }
  const covers = ({ price, type }: Covered): boolean =>
    constraints.some(
      ({ item_type: of, constraint, item_price_ids: prices }) =>
        of === type &&
        (constraint === "all" || (constraint === "specific" && prices?.includes(price) === true)),
    );
  return {
    type: coupon.discount_type,
    percentage: coupon.discount_percentage,
    amount: coupon.discount_amount,
    currency: coupon.currency_code,
    endsAt,
    covers: coupon.apply_on === "invoice_amount" ? null : covers,
  };
}

/** @param factor makes ISO minor units */
export function reductionsOf(
  discounts: readonly Discount[],
  items: readonly Covered[],
  { currency, factor }: { readonly currency: string; readonly factor: bigint },
): Discounts | Unreported {
  const whole: Reduction[] = [];
  const own: Reduction[][] = items.map(() => []);
  for (const { type, percentage, amount, currency: of, endsAt, covers } of discounts) {
    const percent = type === "percentage" ? parseFraction(String(percentage ?? "")) : null;
    const off = type === "fixed_amount" ? (amount ?? null) : null;
    if (off !== null && of !== null && of !== undefined && of !== currency) {
      return rejected("discount_unclear", `A discount in ${of} of a subscription in ${currency}`);
    }
    if (percent === null && off === null) {
      return rejected("discount_unclear", "A discount is neither an amount nor a percentage");
    }
    const reduction: Reduction = {
      endsAt,
      products: null,
      factor: percent === null ? fraction(1n) : factorOf(percent),
      amountOff: (off ?? 0n) * factor,
    };
    if (covers === null) whole.push(reduction);
    else for (const [index, item] of items.entries()) if (covers(item)) own[index]?.push(reduction);
  }
  return { whole, own };
}
