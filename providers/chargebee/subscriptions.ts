/** Subscriptions: every event carries the whole state; MRR is items, less recurring discounts. */
import { z } from "zod";
import { limits } from "../../config.js";
import { fraction } from "../../schemas/money/monthly.js";
import type { FactBody } from "../../schemas/records/records.js";
import { isUnreported, rejected, type Unreported } from "../outcomes.js";
import type { Known } from "../provider.js";
import { reducedAmounts } from "../reductions.js";
import { endStanding, standingOf } from "../standing.js";
import {
  monthlyItem,
  nothingFrom,
  type SubscriptionFact,
  timesFrom,
  trialFrom,
  type Worth,
  worthOf,
} from "../worth.js";
import {
  couponDiscount,
  type Discounts,
  ownDiscount,
  ownDiscountShape,
  reductionsOf,
} from "./discounts.js";
import { type ChargebeeEvent, factsAt, field, isoFactor, reader, unitUnclear } from "./event.js";
import { couponOf, isWorth } from "./questions.js";

const dayMs = 24 * 60 * 60 * 1000;
/** Set where Chargebee cancels by itself; the merchant's codes have the same ones by name. */
const unpaidReasons: ReadonlySet<string> = new Set(["not_paid", "no_card", "Not Paid", "No Card"]);

const unit = z.enum(["day", "week", "month", "year"]);
const period = {
  billing_period: z.int().positive().nullish(),
  billing_period_unit: unit.nullish(),
};

const itemShape = z.object({
  ...period,
  item_price_id: field.id,
  item_type: z.enum(["plan", "addon", "charge"]),
  quantity: z.int().nonnegative().nullish(),
  unit_price: field.amount.nullish(),
  amount: field.amount.nullish(),
  metered_quantity: z.string().nullish(),
});

const subscriptionShape = z.object({
  ...period,
  id: field.id,
  // One to come is not taken for one that is worth nothing.
  status: z.enum([
    ...(["future", "in_trial", "active", "non_renewing"] as const),
    ...(["paused", "cancelled", "transferred"] as const),
  ]),
  customer_id: field.id,
  currency_code: field.currency,
  created_at: field.time.nullish(),
  started_at: field.time.nullish(),
  activated_at: field.time.nullish(),
  pause_date: field.time.nullish(),
  cancelled_at: field.time.nullish(),
  cancel_reason: z.string().nullish().catch(null),
  cancel_reason_code: z.string().nullish().catch(null),
  due_invoices_count: z.int().nullish().catch(null),
  due_since: field.time.nullish().catch(null),
  resource_version: field.version,
  deleted: z.boolean().nullish(),
  subscription_items: z.array(itemShape).nullish(),
  coupons: z.array(z.object({ coupon_id: field.id, apply_till: field.time.nullish() })).nullish(),
  discounts: z.array(ownDiscountShape).nullish(),
});
type Subscription = z.output<typeof subscriptionShape>;

export const readSubscription = reader(subscriptionShape, (subscription, event) => {
  const { id, customer_id: account, resource_version: version } = subscription;
  const { phase, at } = momentOf(subscription, event);
  const worth = phase === "ended" ? nothingFrom(at) : worthAt(subscription, at, event.known);
  if ("outcome" in worth) return worth;
  const state: FactBody = {
    Subscription: { subscription: id, account, country: null, phase, ...worth },
  };
  const standing = standingIn(subscription, phase, at);
  const said = standingOf({ subscription: id, account }, standing, at);
  return factsAt(version, event, [state, ...said]);
});

/** An invoice is due, too, while it is first charged; if that fails, `payment_failed` says so. */
function standingIn(subscription: Subscription, phase: SubscriptionFact["phase"], at: number) {
  const { status, cancel_reason: reason, cancel_reason_code: code } = subscription;
  if (phase === "ended") {
    // One that goes on elsewhere, or was deleted, has no reason.
    return endStanding(status === "cancelled" ? unpaidReasons.has(reason ?? code ?? "") : null);
  }
  const { due_invoices_count: due, due_since: dueSince } = subscription;
  const isDue = (due ?? 0) > 0 && typeof dueSince === "number" && dueSince + dayMs <= at;
  return isDue && isWorth(status) ? "failing" : null;
}

function momentOf(
  { status, deleted, resource_version: version, ...times }: Subscription,
  { type, at }: ChargebeeEvent,
): { phase: SubscriptionFact["phase"]; at: number } {
  const now = version ?? at;
  if (status === "cancelled") return { phase: "ended", at: times.cancelled_at ?? now };
  if (status === "transferred" || deleted === true) return { phase: "ended", at: now };
  if (type.startsWith("subscription_created")) {
    return { phase: "started", at: times.started_at ?? times.created_at ?? now };
  }
  if (type.startsWith("subscription_activated")) {
    return { phase: "changed", at: times.activated_at ?? now };
  }
  return { phase: "changed", at: status === "paused" ? (times.pause_date ?? now) : now };
}

function worthAt(subscription: Subscription, at: number, known: Known): Worth | Unreported {
  const { status, currency_code: currency, subscription_items: listed } = subscription;
  if (status === "in_trial") return trialFrom(at);
  if (!isWorth(status)) return nothingFrom(at);
  if (!listed) {
    const detail = "Subscriptions of Product Catalog 1.0 (plans and addons) are not read";
    return rejected("price_unclear", detail);
  }
  const factor = isoFactor(currency);
  if (factor === null) return unitUnclear(currency);
  if (listed.length > limits.itemsPerSubscriptionMax) {
    return rejected("too_many_items", `More than ${limits.itemsPerSubscriptionMax} items`);
  }
  const items = pricedItems(subscription, factor);
  if (isUnreported(items)) return items;
  const discounts = discountsOf(subscription, items, { currency, factor }, known);
  if (isUnreported(discounts)) return discounts;
  const { whole, own } = discounts;
  const reducible = items.map(({ price, amount }, index) => ({
    product: price,
    amount: fraction(amount),
    own: own[index] ?? [],
  }));
  const steps = timesFrom(at, [...whole, ...own.flat()]).map((time) => {
    const amounts = reducedAmounts(reducible, whole, time);
    return {
      at: time,
      items: items.flatMap(({ price, interval, intervalCount }, index) => {
        const amount = amounts[index];
        if (amount === undefined || amount.numerator < 0n) return [];
        return monthlyItem(price, price, amount, { interval, intervalCount });
      }),
    };
  });
  return worthOf(currency, steps);
}

interface Priced {
  readonly price: string;
  readonly type: string;
  /** ISO minor units of one period */
  readonly amount: bigint;
  readonly interval: z.output<typeof unit>;
  readonly intervalCount: bigint;
}

/** Plans and addons; a charge is billed once, and what is metered is no MRR. */
function pricedItems(
  { subscription_items: items, ...subscription }: Subscription,
  factor: bigint,
): Priced[] | Unreported {
  const priced: Priced[] = [];
  for (const item of items ?? []) {
    if (item.item_type === "charge" || (item.metered_quantity ?? null) !== null) continue;
    const amount =
      item.amount ?? (item.unit_price ? item.unit_price * BigInt(item.quantity ?? 1) : null);
    const interval = item.billing_period_unit ?? subscription.billing_period_unit;
    if (amount === null || !interval) {
      return rejected("price_unclear", "An item shows no amount, or how often it is billed");
    }
    const count = item.billing_period ?? subscription.billing_period ?? 1;
    const { item_price_id: price, item_type: type } = item;
    priced.push({ price, type, amount: amount * factor, interval, intervalCount: BigInt(count) });
  }
  return priced;
}

function discountsOf(
  { coupons, discounts }: Subscription,
  items: readonly Priced[],
  money: { readonly currency: string; readonly factor: bigint },
  known: Known,
): Discounts | Unreported {
  const own = discounts ?? [];
  const applied = own.flatMap((discount) => ownDiscount(discount) ?? []);
  for (const { coupon_id: id, apply_till: endsAt } of coupons ?? []) {
    // Listed as a discount, too.
    if (own.some(({ coupon_id: of }) => of === id)) continue;
    const coupon = couponOf(known, id);
    if (coupon === null) {
      const detail = "Chargebee must be asked: the event names a coupon by its id only";
      return rejected("enrichment_unavailable", detail);
    }
    const discount = couponDiscount(coupon, endsAt ?? null);
    if (discount === null) continue;
    if ("outcome" in discount) return discount;
    applied.push(discount);
  }
  return reductionsOf(applied, items, money);
}
