/**
 * Subscriptions: every event carries the whole state but no price, which the API is asked for.
 * Changes happen at `updated_at`, since there is no other time (`definitions.md`, Providers).
 */
import type { FactBody } from "../../schemas/records/records.js";
import { factorOf, reducedAmounts, type Reducible, type Reduction } from "../reductions.js";
import { isUnreported, rejected, type Unreported } from "../outcomes.js";
import { standingOf } from "../standing.js";
import {
  monthlyItem,
  nothingFrom,
  type SubscriptionFact,
  timesFrom,
  trialFrom,
  type Worth,
  worthOf,
} from "../worth.js";
import { factsAt, type LemonEvent, reader, unavailable } from "./event.js";
import { orderPayment } from "./orders.js";
import { agreedPrice, periodAmount } from "./prices.js";
import {
  chargedOf,
  countryOf,
  discountOf,
  isWithoutDiscount,
  priceOf,
  redemptionsOf,
  storeCurrency,
} from "./questions.js";
import { isWorth, type Subscription, subscriptionShape } from "./state.js";
import { fraction } from "../../schemas/money/monthly.js";
import type { Known } from "../provider.js";

export const readSubscription = reader(subscriptionShape, (subscription, event) => {
  const { customer_id: account, product_id: product, updated_at: updatedAt } = subscription;
  const country = countryOf(event.known, account);
  const { phase, at } = momentOf(subscription, event);
  const worth = worthNow(subscription, { phase, at }, event);
  if ("outcome" in worth) return worth;
  const purchase = subscriptionPurchase(event.id);
  const bodies: FactBody[] = [
    { Subscription: { subscription: event.id, account, country, phase, ...worth } },
    {
      Purchase: {
        purchase,
        account,
        country,
        type: "subscription",
        tax: null,
        fee: null,
        lines: [{ external_id: product, weight: 1n }],
      },
    },
  ];
  if (phase === "started") {
    const payment = orderPayment(subscription.order_id);
    bodies.push({ Link: { payment, purchase, as_of: subscription.created_at } });
  }
  const standing = phase === "ended" ? null : standingIn(subscription);
  bodies.push(...standingOf({ subscription: event.id, account }, standing, at));
  return factsAt(updatedAt, bodies);
});

function standingIn(subscription: Subscription) {
  if (subscription.status === "unpaid") return "unpaid";
  return subscription.status === "past_due" && isWorth(subscription) ? "failing" : null;
}

/** What the invoices of a subscription paid for. */
export function subscriptionPurchase(subscription: string): string {
  return `subscription:${subscription}`;
}

function momentOf(
  { status, created_at: createdAt, updated_at: updatedAt }: Subscription,
  { name }: LemonEvent,
): { phase: SubscriptionFact["phase"]; at: number } {
  if (status === "expired" || name === "subscription_expired") {
    return { phase: "ended", at: updatedAt };
  }
  return name === "subscription_created"
    ? { phase: "started", at: createdAt }
    : { phase: "changed", at: updatedAt };
}

function worthNow(
  subscription: Subscription,
  { phase, at }: { readonly phase: SubscriptionFact["phase"]; readonly at: number },
  event: LemonEvent,
): Worth | Unreported {
  if (isWorth(subscription)) return worthFrom(subscription, at, event);
  const isTrial = subscription.status === "on_trial" && phase !== "ended";
  return isTrial ? trialFrom(at) : nothingFrom(at);
}

/** One step from `at` on, and one more where a discount ends after it. */
function worthFrom(
  subscription: Subscription,
  at: number,
  { known }: LemonEvent,
): Worth | Unreported {
  const { first_subscription_item: item } = subscription;
  if (!item) return rejected("malformed", "first_subscription_item: missing");
  const listed = priceOf(known, item.price_id);
  if (listed === null) return unavailable("what a subscription costs");
  const currency = storeCurrency(known, subscription.store_id);
  if (currency === null) return unavailable("the currency of the store");
  const charged = chargedOf(known, subscription.order_id);
  if (charged === undefined) return unavailable("what the order of a subscription charged");
  // In another currency it reports nothing; nor does it of another plan.
  const isSame = charged?.currency === currency && charged.price === item.price_id;
  const price = isSame ? agreedPrice(listed, charged.unit) : listed;
  const interval = price.renewal_interval_unit;
  if (price.usage_aggregation || !interval) return nothingFrom(at);
  const amount = periodAmount(price, BigInt(item.quantity ?? 1));
  if (amount === null) return rejected("price_unclear", "the price reports no amount");
  const reductions = discountsOf(known, subscription);
  if (isUnreported(reductions)) return reductions;

  const reducible: Reducible = { product: subscription.product_id, amount, own: [] };
  const intervalCount = BigInt(price.renewal_interval_quantity ?? 1);
  const steps = timesFrom(at, reductions).map((time) => {
    const [left = amount] = reducedAmounts([reducible], reductions, time);
    const period = { interval, intervalCount };
    return { at: time, items: monthlyItem(item.id, subscription.product_id, left, period) };
  });
  return worthOf(currency, steps);
}

/** Recurring discounts: an order's redemptions, and for how long each discount runs. */

/**
 * No event of a subscription shows its discount. The order's redemption says how much it is, the
 * discount for how long; `once` does not change MRR. Months count from the first paid period.
 */
function discountsOf(known: Known, subscription: Subscription): Reduction[] | Unreported {
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
