/**
 * Subscriptions: every event carries the whole state, so each says what the subscription is worth
 * from a moment on. Events carry no totals: MRR is items × unit price, less the discount.
 */
import { z } from "zod";
import { limits } from "../../config.js";
import { fraction } from "../../schemas/money/monthly.js";
import type { FactBody, Item } from "../../schemas/records/records.js";
import { anyObject } from "../fields.js";
import { reducedAmounts } from "../reductions.js";
import { isUnreported, rejected, type Unreported } from "../outcomes.js";
import { standingOf } from "../standing.js";
import {
  monthlyItem,
  nothingFrom,
  type SubscriptionFact,
  trialFrom,
  type Worth,
  worthOf,
} from "../worth.js";
import { type Covered, readReductions } from "./discounts.js";
import { field, type PaddleEvent, reader } from "./event.js";
import { unitPriceFor, unitPricesShape } from "./prices.js";
import { countryOf, discountOf, isWorth } from "./questions.js";

const dayMs = 24 * 60 * 60 * 1000;

const cycle = z.object({
  interval: z.enum(["day", "week", "month", "year"]),
  frequency: z.int().positive(),
});

const itemShape = z.object({
  status: z.string().nullish(),
  recurring: z.boolean().nullish(),
  quantity: z.int().nonnegative(),
  trial_dates: z.object({ ends_at: field.time }).nullish(),
  price: unitPricesShape.extend({
    id: field.id,
    product_id: field.id,
    billing_cycle: cycle.nullish(),
    trial_period: anyObject.nullish(),
  }),
});

const subscriptionShape = z.object({
  id: field.id,
  // One to come is not taken for one that is worth nothing.
  status: z.enum(["trialing", "active", "past_due", "paused", "canceled", "inactive"]),
  customer_id: field.id,
  address_id: field.id.nullish(),
  currency_code: field.currency.nullish(),
  transaction_id: field.id.nullish(),
  created_at: field.time,
  started_at: field.time.nullish(),
  first_billed_at: field.time.nullish(),
  paused_at: field.time.nullish(),
  canceled_at: field.time.nullish(),
  current_billing_period: z.object({ starts_at: field.time }).nullish(),
  discount: z
    .object({
      id: field.id,
      starts_at: field.time.nullish(),
      ends_at: field.time.nullish(),
    })
    .nullish(),
  items: z.array(itemShape),
});
type Subscription = z.output<typeof subscriptionShape>;

export const readSubscription = reader(subscriptionShape, (subscription, event) => {
  const { id, customer_id: account } = subscription;
  const country = countryOf(event.known, account, subscription.address_id);
  const { phase, at } = momentOf(subscription, event);
  const worth = phase === "ended" ? nothingFrom(at) : worthNow(subscription, country, at, event);
  if ("outcome" in worth) return worth;
  const state: FactBody = { Subscription: { subscription: id, account, country, phase, ...worth } };
  const isFailing = subscription.status === "past_due" && phase !== "ended";
  const failing = standingOf({ subscription: id, account }, isFailing ? "failing" : null, at);
  return [state, ...firstPayment(subscription, country), ...failing];
});

/** Only `subscription.created` names the transaction that paid for it. */
function firstPayment(
  { id, transaction_id: payment, customer_id: account }: Subscription,
  country: string | null,
): FactBody[] {
  if (!payment) return [];
  const type = "subscription";
  return [
    { Purchase: { purchase: id, account, country, type, tax: null, fee: null, lines: [] } },
    { Link: { payment, purchase: id } },
  ];
}

/**
 * When the reported state began. Paddle's own dates beat the event's where a state is reported
 * later than it began. A scheduled change does nothing: its event comes when it takes effect.
 */
function momentOf(
  subscription: Subscription,
  { type, at }: PaddleEvent,
): { phase: SubscriptionFact["phase"]; at: number } {
  const { status } = subscription;
  if (status === "canceled" || type === "subscription.canceled") {
    return { phase: "ended", at: subscription.canceled_at ?? at };
  }
  const isFirst = ["subscription.created", "subscription.imported", "subscription.trialing"];
  if (isFirst.includes(type)) return { phase: "started", at: startedAt(subscription) };
  if (status === "paused") {
    return { phase: "changed", at: Math.min(subscription.paused_at ?? at, at) };
  }
  const trialEnd = trialEndOf(subscription);
  // Reported after the trial's end but before the conversion, which bears the date of that end: a
  // moment earlier, so as not to undo it.
  if (status === "trialing" && trialEnd !== null && trialEnd <= at) {
    return { phase: "changed", at: trialEnd - 1 };
  }
  if (type === "subscription.activated") {
    return { phase: "changed", at: Math.min(activatedAt(subscription) ?? at, at) };
  }
  return { phase: "changed", at };
}

function startedAt(subscription: Subscription): number {
  return subscription.started_at ?? subscription.created_at;
}

/** @returns null where nothing was on trial */
export function trialEndOf({
  items,
}: {
  readonly items: readonly {
    readonly trial_dates?: { readonly ends_at: number } | null | undefined;
  }[];
}): number | null {
  const ends = items.flatMap(({ trial_dates: trial }) => trial?.ends_at ?? []);
  return ends.length > 0 ? Math.max(...ends) : null;
}

/**
 * The beginning of the first paid period: the trial's end, or the very start. Null when the period
 * is a later one (a payment that failed was made up for), or when a trial's end is not reported.
 * Where the period that was billed first begins at another time, the trial was cut short, extended
 * or paused, and what its items say of it is what was planned.
 */
function activatedAt(subscription: Subscription): number | null {
  const begins = subscription.current_billing_period?.starts_at ?? null;
  const billed = subscription.first_billed_at ?? null;
  if (begins !== null && billed !== null && billed < begins) return null;
  const trialEnd = trialEndOf(subscription);
  const started = startedAt(subscription);
  if (trialEnd !== null) {
    const isMoved = begins !== null && begins > started && (billed !== null || begins < trialEnd);
    return isMoved ? begins : trialEnd;
  }
  const hadTrial = subscription.items.some(({ price }) => price.trial_period);
  if (!hadTrial) return started;
  return begins !== null && begins > started ? begins : null;
}

/** A subscription reported first after its trial (an import) is worth nothing until that ended. */
function firstPaidAt(subscription: Subscription, at: number): number {
  const trialEnd = trialEndOf(subscription);
  return at === startedAt(subscription) && trialEnd !== null && trialEnd > at ? trialEnd : at;
}

function worthNow(
  subscription: Subscription,
  country: string | null,
  at: number,
  event: PaddleEvent,
): Worth | Unreported {
  if (!isWorth(subscription)) {
    return subscription.status === "trialing" ? trialFrom(at) : nothingFrom(at);
  }
  return worthFrom(subscription, country, { at, paidFrom: firstPaidAt(subscription, at) }, event);
}

/** An item that counts, as one of its periods is priced. */
interface Priced extends Covered {
  readonly amount: bigint;
  readonly cycle: z.output<typeof cycle>;
}

/** One step where the worth begins, and one where the discount's start or end falls after it. */
function worthFrom(
  subscription: Subscription,
  country: string | null,
  { at, paidFrom }: { readonly at: number; readonly paidFrom: number },
  { known }: PaddleEvent,
): Worth | Unreported {
  if (subscription.items.length > limits.itemsPerSubscriptionMax) {
    return rejected("too_many_items", `More than ${limits.itemsPerSubscriptionMax} items`);
  }
  const items = pricedItems(subscription, country);
  if (isUnreported(items)) return items;
  const currency = items[0]?.currency ?? "";
  if (items.some((item) => item.currency !== currency)) {
    return rejected("prices_of_several_currencies", currenciesUnclear);
  }
  const { starts_at: from = null, ends_at: until = null, id = "" } = subscription.discount ?? {};
  const applies = id !== "" && (until === null || until > paidFrom);
  const discount = applies ? discountOf(known, id) : null;
  if (applies && discount === null) {
    const detail = "Paddle must be asked: the event names a discount by its id only";
    return rejected("enrichment_unavailable", detail);
  }
  const none = { whole: [], own: items.map(() => []) };
  const reductions = discount === null ? none : readReductions(discount, items, until);
  if ("outcome" in reductions) return reductions;

  // A discount given at the checkout may begin seconds after the subscription.
  const isLater = applies && from !== null && from > paidFrom + dayMs;
  const changes = [isLater ? from : null, applies ? until : null].flatMap((time) => time ?? []);
  const times = [paidFrom, ...new Set(changes.filter((time) => time > paidFrom))];
  const steps = times
    .sort((one, other) => one - other)
    .map((time) => {
      const isOn = !isLater || from <= time;
      return { at: time, items: itemsAt(items, isOn ? reductions : none, time) };
    });
  if (paidFrom <= at) return worthOf(currency, steps);
  const trial = trialFrom(at);
  const worth = worthOf(currency, [...trial.steps, ...steps]);
  return "outcome" in worth ? worth : { ...worth, trial: true };
}

function pricedItems(
  { items, currency_code: currency }: Subscription,
  country: string | null,
): Priced[] | Unreported {
  const priced: Priced[] = [];
  for (const { price, status, recurring, quantity } of items) {
    const isPaid = recurring !== false && status !== "inactive" && status !== "trialing";
    if (!isPaid || !price.billing_cycle) continue;
    const unit = unitPriceFor(price, currency ?? null, country);
    if (unit === null) return rejected("enrichment_unavailable", countryUnknown);
    priced.push({
      price: price.id,
      productId: price.product_id,
      quantity: BigInt(quantity),
      currency: unit.currency_code,
      amount: unit.amount * BigInt(quantity),
      cycle: price.billing_cycle,
    });
  }
  return priced;
}

/** docs/decisions/providers.md */
const currenciesUnclear =
  "Paddle converts some of the items' prices and events leave out into what: put in their place " +
  "prices that are set in the subscription's currency";

const countryUnknown =
  "Paddle must be asked: the price depends on the customer's country, which the event leaves out";

function itemsAt(
  items: readonly Priced[],
  { whole, own }: Exclude<ReturnType<typeof readReductions>, Unreported>,
  at: number,
): Item[] {
  const reducible = items.map(({ price, amount }, index) => ({
    product: price, // a discount may be limited to one of several prices of a product
    amount: fraction(amount),
    own: own[index] ?? [],
  }));
  const amounts = reducedAmounts(reducible, whole, at);
  return items.flatMap(({ productId, cycle: { interval, frequency } }, index) => {
    const amount = amounts[index];
    if (amount === undefined || amount.numerator < 0n) return [];
    const period = { interval, intervalCount: BigInt(frequency) };
    return monthlyItem(itemName(items, index), productId, amount, period);
  });
}

/** Paddle's items have no ids: their prices distinguish them, and its place one listed twice. */
function itemName(items: readonly Priced[], index: number): string {
  const price = items[index]?.price ?? "";
  const place = items.slice(0, index).filter((item) => item.price === price).length;
  return place === 0 ? price : `${price}#${place + 1}`;
}
