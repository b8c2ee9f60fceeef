/** Subscriptions: every event carries the whole state and what a period costs. */
import { z } from "zod";
import { fraction } from "../../schemas/money/monthly.js";
import type { FactBody } from "../../schemas/records/records.js";
import { rejected, type Unreported } from "../outcomes.js";
import { endStanding, standingOf } from "../standing.js";
import { isoMinor } from "../stripe/event.js";
import {
  monthlyItem,
  nothingFrom,
  type SubscriptionFact,
  trialFrom,
  type Worth,
  worthOf,
} from "../worth.js";
import { field, type PolarEvent, reader } from "./event.js";

/** One to come is not taken for one that is worth nothing. */
const statuses = [
  "incomplete",
  "incomplete_expired",
  "trialing",
  "active",
  "past_due",
  "canceled",
  "unpaid",
  "paused",
] as const;

const priceShape = z.object({
  amount_type: z.string(),
  price_currency: z.string().nullish(),
  price_amount: field.amount.nullish().catch(null),
});

const discountShape = z.object({
  duration: z.enum(["once", "forever", "repeating"]),
  /** Of each currency; before there were several, `amount` is of `currency`. */
  amounts: z.record(z.string(), field.amount).nullish().catch(null),
  amount: field.amount.nullish().catch(null),
  currency: z.string().nullish(),
});

const subscriptionShape = z.object({
  id: field.id,
  status: z.enum(statuses),
  /** Of a period, after a discount. */
  amount: field.amount,
  currency: field.currency,
  recurring_interval: z.enum(["day", "week", "month", "year"]),
  recurring_interval_count: z.int().positive().nullish(),
  created_at: field.time,
  started_at: field.time.nullish(),
  ended_at: field.time.nullish(),
  paused_at: field.time.nullish(),
  /** Since when it is past due, also once it ended so; before Polar had it, it was left out. */
  past_due_at: field.time.nullish(),
  cancel_at_period_end: z.boolean().nullish().catch(null),
  customer_cancellation_reason: z.string().nullish().catch(null),
  customer_id: field.id,
  product_id: field.id,
  discount: discountShape.nullish(),
  prices: z.array(priceShape).nullish(),
  customer: z
    .object({ billing_address: z.object({ country: z.string().regex(/^[A-Z]{2}$/) }) })
    .nullish()
    .catch(null),
});
type Subscription = z.output<typeof subscriptionShape>;

export const readSubscription = reader(subscriptionShape, (subscription, event) => {
  const { id, customer_id: account, customer } = subscription;
  const { phase, at } = momentOf(subscription, event);
  const worth = worthAt(subscription, at);
  if ("outcome" in worth) return worth;
  const country = customer?.billing_address.country ?? null;
  const state: FactBody = { Subscription: { subscription: id, account, country, phase, ...worth } };
  return [state, ...standing({ subscription: id, account }, subscription, { phase, at })];
});

/** @param of whose payments they are */
function standing(
  of: { readonly subscription: string; readonly account: string },
  subscription: Subscription,
  { phase, at }: ReturnType<typeof momentOf>,
): FactBody[] {
  const { status, past_due_at: pastDueAt } = subscription;
  if (status === "past_due") return standingOf(of, "failing", Math.min(pastDueAt ?? at, at));
  if (status === "unpaid") return standingOf(of, "unpaid", at);
  // What expired incomplete was never paid.
  if (phase !== "ended" || status !== "canceled") return [];
  return standingOf(of, endStanding(isEndedUnpaid(subscription)), at);
}

/**
 * After the last attempt to charge Polar ends a subscription at once, and gives no reason: it was
 * past due, and nobody cancelled it. Null where the object does not say whether it was past due.
 */
function isEndedUnpaid(subscription: Subscription): boolean | null {
  const { past_due_at: pastDueAt, customer_cancellation_reason: reason } = subscription;
  if (reason || subscription.cancel_at_period_end === true) return false;
  return pastDueAt === undefined ? null : pastDueAt !== null;
}

function momentOf(
  { status, created_at: createdAt, started_at: startedAt, ...times }: Subscription,
  { type, at }: PolarEvent,
): { phase: SubscriptionFact["phase"]; at: number } {
  if (status === "canceled" || status === "incomplete_expired") {
    return { phase: "ended", at: times.ended_at ?? at };
  }
  if (type === "subscription.created") return { phase: "started", at: startedAt ?? createdAt };
  return { phase: "changed", at: status === "paused" ? (times.paused_at ?? at) : at };
}

/** Past due still counts, and one that is cancelled is active until its period is over. */
function worthAt(subscription: Subscription, at: number): Worth | Unreported {
  const { id, status, currency, product_id: product } = subscription;
  if (status === "trialing") return trialFrom(at);
  if (status !== "active" && status !== "past_due") return nothingFrom(at);
  const amount = recurringAmount(subscription);
  if (amount === null) {
    return rejected("price_unclear", "What it costs without its discount of one time is not shown");
  }
  const items = monthlyItem(id, product, fraction(isoMinor(amount, currency)), {
    interval: subscription.recurring_interval,
    intervalCount: BigInt(subscription.recurring_interval_count ?? 1),
  });
  return worthOf(currency, [{ at, items }]);
}

/**
 * A discount of one time does not change MRR, but is in the amount while it applies: then the fixed
 * prices count, or what the discount took off is added again. When any discount is over, Polar
 * reports the subscription without it.
 */
function recurringAmount({ amount, currency, discount, prices }: Subscription): bigint | null {
  if (discount?.duration !== "once") return amount;
  const code = currency.toLowerCase();
  const own = (prices ?? []).filter(
    ({ amount_type: type, price_currency: of }) =>
      // What is used is not MRR.
      type !== "metered_unit" && (of ?? code).toLowerCase() === code,
  );
  if (own.length > 0 && own.every(({ amount_type: type }) => type === "fixed" || type === "free")) {
    return own.reduce((sum, { price_amount: price }) => sum + (price ?? 0n), 0n);
  }
  const off =
    discount.amounts?.[code] ??
    (discount.currency?.toLowerCase() === code ? discount.amount : null) ??
    null;
  // One that took all may have been worth more.
  return off === null || amount === 0n ? null : amount + off;
}
