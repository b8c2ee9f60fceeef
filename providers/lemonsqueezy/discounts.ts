/** Recurring discounts: an order's redemptions, and for how long each discount runs. */
import { fraction } from "../../schemas/money/monthly.js";
import type { Unreported } from "../outcomes.js";
import type { Known } from "../provider.js";
import { factorOf, type Reduction } from "../reductions.js";
import { unavailable } from "./event.js";
import { discountOf, isWithoutDiscount, redemptionsOf } from "./questions.js";
import type { Subscription } from "./state.js";

/**
 * No event of a subscription shows its discount. The order's redemption says how much it is, the
 * discount for how long; `once` does not change MRR. Months count from the first paid period.
 */
export function discountsOf(known: Known, subscription: Subscription): Reduction[] | Unreported {
  const { order_id: order, created_at: createdAt, trial_ends_at: trialEnd } = subscription;
  if (isWithoutDiscount(known, order)) return [];
  const redemptions = redemptionsOf(known, order);
  if (redemptions === null) return unavailable("the discounts of an order");
  const reductions: Reduction[] = [];
  for (const {
    discount_id: id,
    discount_amount: amount,
    discount_amount_type: type,
  } of redemptions) {
    const discount = discountOf(known, id);
    if (discount === null) return unavailable("for how long a discount runs");
    if (discount.duration === "once") continue;
    const months = discount.duration === "repeating" ? (discount.duration_in_months ?? null) : null;
    const isForever = months === null || months > repeatingMonthsMax;
    const endsAt = isForever ? null : monthsLater(trialEnd ?? createdAt, months);
    const off =
      type === "percent"
        ? { factor: factorOf(fraction(BigInt(amount))), amountOff: 0n }
        : { factor: fraction(1n), amountOff: BigInt(amount) };
    reductions.push({ endsAt, products: null, ...off });
  }
  return reductions;
}

/** Lemon Squeezy names no bound; who writes more than a century means for ever. */
const repeatingMonthsMax = 1_200;

/** The same day and time so many months later; the month's last day when it is shorter. */
function monthsLater(at: number, months: number): number {
  const date = new Date(at);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime();
}
