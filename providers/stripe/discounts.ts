/** Recurring discounts: what they are and until when. */
import { z } from "zod";
import { fraction, parseFraction } from "../../schemas/money/monthly.js";
import { isObject } from "../fields.js";
import type { Unreported } from "../outcomes.js";
import type { KeptObject } from "../provider.js";
import { factorOf, type Reduction } from "../reductions.js";
import { field, isoMinor, unavailable } from "./event.js";

const couponShape = z.object({
  id: z.string().nullish(),
  duration: z.string(),
  percent_off: z.number().positive().max(100).nullish(),
  amount_off: field.amount.nullish(),
  currency: field.currency.nullish(),
  currency_options: z.record(z.string(), z.object({ amount_off: field.amount })).nullish(),
  applies_to: z.object({ products: z.array(z.string()).nullish() }).nullish(),
});
type Coupon = z.output<typeof couponShape>;

/** The coupon is inside, by layout, or only its id is. */
const couponReference = z.union([z.string(), couponShape]).nullish();
const discountShape = z.object({
  id: z.string().nullish(),
  end: field.time.nullish(),
  coupon: couponReference,
  source: z.object({ coupon: couponReference }).nullish(),
});
type Discount = z.output<typeof discountShape>;

/** `customer.discount.…` and `coupon.…` events: what later events name by id only. */
export function keptDiscounts(type: string, object: unknown, reportedAt: number): KeptObject[] {
  if (/^coupon\.(created|updated)$/.test(type)) {
    const coupon = couponShape.safeParse(object);
    if (!coupon.success || typeof coupon.data.id !== "string") return [];
    const kept = { reportedAt, refers: [], object: rawParts(object, couponKeys) };
    return [{ id: couponId(coupon.data.id), ownId: true, ...kept }];
  }
  if (!/^customer\.discount\.(created|updated)$/.test(type)) return [];
  const discount = discountShape.safeParse(object);
  if (!discount.success || typeof discount.data.id !== "string") return [];
  const coupon = couponIn(discount.data);
  return [
    {
      id: discount.data.id,
      reportedAt,
      refers: typeof coupon === "string" ? [couponId(coupon)] : [],
      object: rawParts(object, ["id", "end", "coupon", "source"]),
    },
  ];
}

/** The ids under which what a subscription only names may be kept. */
export function neededDiscounts(given: readonly GivenDiscount[]): string[] {
  return given.flatMap((one) => {
    if (typeof one === "string") return [one];
    const coupon = couponIn(one);
    return typeof coupon === "string" ? [couponId(coupon)] : [];
  });
}

/** What no event reported: ids of discounts, and of coupons of those that are known. */
export function unknownDiscounts(
  given: readonly GivenDiscount[],
  known: KnownDiscounts,
): { readonly discounts: readonly string[]; readonly coupons: readonly string[] } {
  const discounts: string[] = [];
  const coupons: string[] = [];
  for (const one of given) {
    const discount = typeof one === "string" ? known.discount(one) : one;
    const coupon = discount && couponIn(discount);
    if (discount === null && typeof one === "string") discounts.push(one);
    else if (typeof coupon === "string" && known.coupon(coupon) === null) coupons.push(coupon);
  }
  return { discounts, coupons };
}

/**
 * Ids of recurring coupons of which events leave out what matters here: for which products they
 * are (without an answer they count for all), or their amount in the subscription's currency.
 *
 * One for another product takes nothing off: which products a subscription is of says nothing.
 *
 * @param currency of the subscription, upper case
 */
export function incompleteCoupons(
  given: readonly GivenDiscount[],
  known: KnownDiscounts,
  currency: string,
): string[] {
  return given.flatMap((one) => {
    const coupon = couponOf(one, known);
    const id = coupon?.id ?? null;
    if (coupon === null || id === null || coupon.duration === "once") return [];
    const isUnclear = coupon.applies_to === undefined;
    const isUnpriced = typeof coupon.percent_off !== "number" && !amountOff(coupon, currency);
    return (isUnclear || isUnpriced) && known.answered(id) === null ? [id] : [];
  });
}

function couponIn({ coupon, source }: Discount) {
  return coupon ?? source?.coupon;
}

/** As an event reported it, and beside that what Stripe answers. */
function couponOf(one: GivenDiscount, known: KnownDiscounts): Coupon | null {
  const discount = typeof one === "string" ? known.discount(one) : one;
  const named = discount && couponIn(discount);
  const coupon = typeof named === "string" ? known.coupon(named) : (named ?? null);
  const answered = coupon && known.answered(coupon.id ?? "");
  if (!coupon || !answered) return coupon;
  return {
    ...coupon,
    applies_to: coupon.applies_to ?? answered.applies_to,
    currency_options: coupon.currency_options ?? answered.currency_options,
  };
}

/** Where Stripe's answer about a coupon is kept beside what an event reported it. */
export function answeredCouponId(coupon: string): string {
  return `answered:${coupon}`;
}

/** Coupon ids are the merchant's own words and could be like another object's id. */
export function couponId(id: string): string {
  return `coupon:${id}`;
}

const couponKeys = Object.keys(couponShape.shape);

/** As sent, so that it is read again by the same shapes; only the fields they know. */
function rawParts(object: unknown, keys: readonly string[]): unknown {
  if (!isObject(object)) return null;
  return Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)));
}

/** Whole, or only an id where the field was not expanded. */
export const givenDiscount = z.union([z.string(), discountShape]);
export type GivenDiscount = z.output<typeof givenDiscount>;

/**
 * The recurring discounts among those given, in order; a one-time coupon does not change MRR.
 * @param currency of the subscription, upper case
 */
export function readReductions(
  given: readonly GivenDiscount[],
  known: KnownDiscounts,
  currency: string,
): Reduction[] | Unreported {
  const reductions: Reduction[] = [];
  for (const one of given) {
    const discount = typeof one === "string" ? known.discount(one) : one;
    const coupon = couponOf(one, known);
    if (discount === null || coupon === null) {
      return unavailable("the event names a discount by its id only");
    }
    if (coupon.duration === "once") continue;
    const reduction = readCoupon(coupon, discount.end ?? null, currency);
    if (reduction === null) return unavailable(`what a coupon is worth in ${currency}`);
    reductions.push(reduction);
  }
  return reductions;
}

/** Discounts and coupons by id: reported whole in the event, or kept from earlier ones. */
export interface KnownDiscounts {
  discount(id: string): Discount | null;
  coupon(id: string): Coupon | null;
  /** Null while Stripe has not answered. */
  answered(coupon: string): Coupon | null;
}

export function knownDiscounts(
  given: readonly (GivenDiscount | null | undefined)[],
  kept: ReadonlyMap<string, unknown>,
): KnownDiscounts {
  const reported = given.flatMap((one) => (typeof one === "object" && one !== null ? [one] : []));
  return {
    discount(id) {
      const here = reported.find((one) => one.id === id);
      return here ?? discountShape.safeParse(kept.get(id)).data ?? null;
    },
    coupon: (id) => couponShape.safeParse(kept.get(couponId(id))).data ?? null,
    answered: (id) => couponShape.safeParse(kept.get(answeredCouponId(id))).data ?? null,
  };
}

/** @returns null when the coupon reports no amount in this currency */
function readCoupon(coupon: Coupon, endsAt: number | null, currency: string): Reduction | null {
  const products = coupon.applies_to?.products ?? null;
  const percent =
    typeof coupon.percent_off === "number" ? parseFraction(`${coupon.percent_off}`) : null;
  if (percent !== null) return { endsAt, products, factor: factorOf(percent), amountOff: 0n };
  const amount = amountOff(coupon, currency);
  if (amount === null || amount === undefined) return null;
  return { endsAt, products, factor: fraction(1n), amountOff: isoMinor(amount, currency) };
}

function amountOff(coupon: Coupon, currency: string): bigint | null | undefined {
  return coupon.currency === currency
    ? coupon.amount_off
    : coupon.currency_options?.[currency.toLowerCase()]?.amount_off;
}
