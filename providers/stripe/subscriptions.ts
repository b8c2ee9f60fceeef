/**
 * Subscriptions: every event carries the whole state, so each says what the subscription is worth
 * from a moment on. Rules: `definitions.md`, MRR.
 */
import { z } from "zod";
import { compiled } from "../fields.js";
import { limits } from "../../config.js";
import { type BillingPeriod, zeroFraction } from "../../schemas/money/monthly.js";
import type { Item } from "../../schemas/records/records.js";
import { type Reducible, reducedAmounts, type Reduction } from "../reductions.js";
import { isUnreported, rejected, type Unreported } from "../outcomes.js";
import { endStanding, standingOf } from "../standing.js";
import {
  monthlyItem,
  nothingFrom,
  type SubscriptionFact,
  timesFrom,
  type Worth,
  trialFrom,
  worthOf,
} from "../worth.js";
import { field, idIn, isoMinorFraction, reader, type StripeEvent, unavailable } from "./event.js";
import {
  type GivenDiscount,
  givenDiscount,
  type KnownDiscounts,
  knownDiscounts,
  neededDiscounts,
  readReductions,
} from "./discounts.js";
import { periodAmount, periodOf, planShape, priceIn, priceShape } from "./prices.js";

/** Stripe allows 20 discounts on a subscription and on each item; more ends than this are none. */
const stepsMax = 100;

const discounts = z.array(givenDiscount).nullish();

const itemShape = z
  .object({
    id: field.id,
    quantity: z.int().nonnegative().nullish(),
    price: priceShape.nullish(),
    plan: planShape.nullish(),
    discounts,
  })
  .transform(({ plan, ...item }) => ({ ...item, price: item.price ?? plan ?? null }));

/** One to come is not taken for one that is worth nothing. */
const statuses = [
  "incomplete",
  "incomplete_expired",
  "trialing",
  "active",
  "past_due",
  "unpaid",
  "paused",
  "canceled",
] as const;

const shape = z.object({
  id: field.id,
  customer: field.reference,
  currency: field.currency.nullish(),
  status: z.enum(statuses),
  created: field.time,
  ended_at: field.time.nullish(),
  trial_end: field.time.nullish(),
  cancel_at: field.time.nullish(),
  pause_collection: z.object({}).nullish(),
  cancellation_details: z.object({ reason: z.string().nullish() }).nullish().catch(null),
  items: z.object({ data: z.array(itemShape), has_more: z.boolean().nullish() }),
  discount: givenDiscount.nullish(),
  discounts,
});
export const subscriptionShape = compiled(shape);
export type Subscription = z.output<typeof subscriptionShape>;

/** An item that counts, as one of its periods is priced. */
interface PricedItem extends Reducible {
  readonly id: string;
  readonly period: BillingPeriod;
}

export const readSubscription = reader(shape, (subscription, event) => {
  if (subscription.customer === null) return rejected("malformed", "customer: missing");
  const { phase, at } = momentOf(subscription, event);
  const worth = phase === "ended" ? nothingFrom(at) : worthNow(subscription, at, event.kept);
  if ("outcome" in worth) return worth;
  const account = idIn(event.account, subscription.customer);
  const { id } = subscription;
  return [
    { Subscription: { subscription: id, account, country: null, phase, ...worth } },
    ...standingOf({ subscription: id, account }, standingIn(subscription, phase), at),
  ];
});

/** An incomplete one was never paid, so that no payment of it fails. */
function standingIn(subscription: Subscription, phase: SubscriptionFact["phase"]) {
  const { status, cancellation_details: details } = subscription;
  if (phase === "ended") {
    const reason = details?.reason ?? null;
    return endStanding(reason === null ? null : reason === "payment_failed");
  }
  if (status === "unpaid") return "unpaid";
  return status === "past_due" && isWorth(subscription) ? "failing" : null;
}

function worthNow(
  subscription: Subscription,
  at: number,
  kept: ReadonlyMap<string, unknown>,
): Worth | Unreported {
  if (isWorth(subscription)) return worthFrom(subscription, at, kept);
  return subscription.status === "trialing" ? trialFrom(at) : nothingFrom(at);
}

/** Past due still counts; trials, pauses of either kind and every other status do not. */
export function isWorth({ status, pause_collection: pause }: Subscription): boolean {
  return (status === "active" || status === "past_due") && (pause ?? null) === null;
}

/**
 * When the reported state began. The provider's own dates beat the event's where a state is
 * reported later than it began: a subscription begins at `created` although its first payment comes
 * after, a trial turns into a paid period at `trial_end`, and it ends at `ended_at`.
 */
function momentOf(
  subscription: Subscription,
  event: StripeEvent,
): { phase: SubscriptionFact["phase"]; at: number } {
  const { status, created, trial_end: trialEnd, ended_at: endedAt } = subscription;
  const ended = status === "canceled" || status === "incomplete_expired";
  if (ended || event.type === "customer.subscription.deleted") {
    return { phase: "ended", at: endedAt ?? event.at };
  }
  // `incomplete` says only that it began: reported as `started`, it yields to the activation, which
  // bears the same date.
  if (event.type === "customer.subscription.created" || status === "incomplete") {
    return { phase: "started", at: created };
  }
  const before = event.previous["status"];
  if (before === "incomplete") return { phase: "changed", at: created };
  const trialIsOver = trialEnd !== null && trialEnd !== undefined && trialEnd <= event.at;
  if (before === "trialing" && trialIsOver) return { phase: "changed", at: trialEnd };
  // Reported after a trial, or all of it, was to end but before Stripe did so, which bears the date
  // of that end: a moment earlier, so as not to undo it.
  const ends = [status === "trialing" ? trialEnd : null, subscription.cancel_at];
  const notAfter = ends.flatMap((end) => (typeof end === "number" ? [end - 1] : []));
  return { phase: "changed", at: Math.min(event.at, ...notAfter) };
}

/** Ids of discounts and coupons a subscription's event names without telling them. */
export function neededBySubscription(object: unknown): string[] {
  const parsed = subscriptionShape.safeParse(object);
  return parsed.success ? neededDiscounts(discountsOf(parsed.data)) : [];
}

/** All that are given, of the whole and of items. */
export function discountsOf({ discount, discounts: own, items }: Subscription): GivenDiscount[] {
  const given = [discount, ...(own ?? []), ...items.data.flatMap((item) => item.discounts ?? [])];
  return given.flatMap((one) => one ?? []);
}

/** Not those of an item. Old layouts show one, and may show it in both places. */
export function ofWhole({ discount, discounts: own }: Subscription): GivenDiscount[] {
  return own !== null && own !== undefined && own.length > 0 ? own : [discount ?? []].flat();
}

/** One step from `at` on, and one more at every announced end of a discount after it. */
function worthFrom(
  subscription: Subscription,
  at: number,
  kept: ReadonlyMap<string, unknown>,
): Worth | Unreported {
  const { data: items, has_more: hasMore } = subscription.items;
  if (hasMore === true) return unavailable("the event lists only some of the items");
  if (items.length > limits.itemsPerSubscriptionMax) {
    return rejected("too_many_items", `More than ${limits.itemsPerSubscriptionMax} items`);
  }
  const ofItems = items.find(({ price }) => price !== null)?.price?.currency ?? "";
  const currency = subscription.currency ?? ofItems;
  const given = ofWhole(subscription);
  const known = knownDiscounts(discountsOf(subscription), kept);
  const priced = pricedItems(items, known, currency, subscription.currency ?? null);
  if (isUnreported(priced)) return priced;
  const whole = readReductions(given, known, currency);
  if (isUnreported(whole)) return whole;

  const times = timesFrom(at, [...whole, ...priced.flatMap((item) => item.own)]);
  if (times.length > stepsMax) return rejected("too_many_discounts", `More than ${stepsMax} ends`);
  const steps = times.map((time) => ({ at: time, items: itemsAt(priced, whole, time) }));
  return worthOf(currency, steps);
}

function pricedItems(
  items: Subscription["items"]["data"],
  known: KnownDiscounts,
  currency: string,
  /** The same, where the subscription reports it. */
  reported: string | null,
): PricedItem[] | Unreported {
  const priced: PricedItem[] = [];
  for (const { id, price, quantity, discounts: given } of items) {
    if (price === null) return rejected("malformed", "items: an item without a price");
    const period = periodOf(price);
    if (period === null) continue;
    const charged = priceIn(price, reported);
    if (charged === null) return unavailable(`what a price is in ${currency}`);
    if (charged.currency !== currency) return rejected("malformed", "items: several currencies");
    const amount = periodAmount(charged, BigInt(quantity ?? 1));
    if (amount === null) return unavailable("the event leaves out the tiers of a price");
    const own = readReductions(given ?? [], known, currency);
    if (isUnreported(own)) return own;
    const product = price.product ?? "";
    priced.push({ id, product, period, own, amount: isoMinorFraction(amount, currency) });
  }
  return priced;
}

function itemsAt(priced: readonly PricedItem[], whole: readonly Reduction[], at: number): Item[] {
  const amounts = reducedAmounts(priced, whole, at);
  return priced.flatMap(({ id, product, period }, index) => {
    const amount = amounts[index] ?? zeroFraction;
    return monthlyItem(id, product, amount, period);
  });
}
