/** Random histories of one Stripe subscription, reported by snapshots as Stripe reports them. */
import * as fc from "fast-check";
import {
  discountObject,
  type JsonObject,
  priceObject,
  type SubscriptionInput,
  subscriptionObject,
} from "../../../ops/payloads/stripe.js";
import { type BoughtLine, paymentFates, type Payer, emitPayment } from "./payment-story.js";
import { after, amounts, dayMs, type Drawn, gaps, secondMs, skus, stripeAmount } from "./story.js";

const prices = fc.record({
  sku: skus,
  unitAmount: amounts,
  quantity: fc.constantFrom(1, 1, 2, 7),
  /** One price is reported in fractions of a minor unit. */
  isFractional: fc.nat(9).map((drawn) => drawn === 0),
  isMetered: fc.nat(9).map((drawn) => drawn === 0),
});
type Price = Drawn<typeof prices>;

const discounts = fc.record({
  percentOff: fc.constantFrom(null, 10, 12.5, 33.3, 100),
  amountOff: fc.constantFrom(1n, 100n, 333n, 5_000n),
  duration: fc.constantFrom("once", "repeating", "forever"),
  lasts: gaps,
  isOfItem: fc.boolean(),
});
type DiscountPlan = Drawn<typeof discounts>;

const whats = fc.constantFrom(
  ...(["renew", "renew", "renew", "quantity", "price", "addItem", "dropItem", "currency"] as const),
  ...(["discount", "dropDiscounts", "pauseCollection", "resumeCollection", "pause"] as const),
  ...(["resume", "pastDue", "unpaid", "recover", "cancelAtPeriodEnd", "cancel"] as const),
  ...(["cancelLater"] as const),
);

const steps = fc.record({
  gap: gaps,
  what: whats,
  price: prices,
  discount: discounts,
  currency: fc.constantFrom("USD", "EUR", "JPY"),
  fate: paymentFates,
});
type Step = Drawn<typeof steps>;

export const subscriptionPlans = fc.record({
  startsAs: fc.constantFrom("active", "active", "incomplete", "trialing", "past_due"),
  begins: gaps,
  /** What becomes of one that is not paid at once. */
  turns: fc.constantFrom("active", "active", "active", "past_due", "paused", "never"),
  interval: fc.constantFrom("month", "month", "year", "week", "day"),
  intervalCount: fc.constantFrom(1, 1, 3, 6),
  prices: fc.array(prices, { minLength: 1, maxLength: 3 }),
  discounts: fc.array(discounts, { maxLength: 2 }),
  steps: fc.array(steps, { maxLength: 12, size: "large" }),
});
export type SubscriptionPlan = Drawn<typeof subscriptionPlans>;

/** The subscription as it stands; a step edits it and reports it. */
interface Standing {
  readonly id: string;
  readonly createdAt: number;
  status: SubscriptionInput["status"];
  currency: string;
  items: { readonly id: string; readonly price: Price }[];
  discounts: { readonly plan: DiscountPlan; readonly object: JsonObject }[];
  trialEndAt: number | null;
  collectionPaused: boolean;
  cancelAtPeriodEnd: boolean;
  cancelAt: number | null;
}

export function emitSubscription(payer: Payer, start: number, plan: SubscriptionPlan): void {
  const standing: Standing = {
    id: payer.id("sub"),
    createdAt: start,
    status: plan.startsAs,
    currency: payer.who.currency,
    items: plan.prices.map((price) => ({ id: payer.id("si"), price })),
    discounts: [],
    trialEndAt: plan.startsAs === "trialing" ? after(start, plan.begins) : null,
    collectionPaused: false,
    cancelAtPeriodEnd: false,
    cancelAt: null,
  };
  for (const discount of plan.discounts) addDiscount(payer, standing, start, discount);
  const report: Report = (type, at, previous, endedAt = null) => {
    const object = snapshot(payer, plan, standing, endedAt);
    payer.say(`customer.subscription.${type}`, at, object, previous);
  };
  let time = start;
  report("created", time);
  if (standing.status === "incomplete") {
    time = after(time, plan.begins);
    if (!isPaidAtLast(standing, plan, time, report)) return;
  }
  for (const step of plan.steps) {
    time = after(time, step.gap);
    if (standing.cancelAt !== null && standing.cancelAt <= time) break;
    if (standing.status === "trialing") {
      const isOver = (standing.trialEndAt ?? 0) <= time;
      const isPossible = whatsOfTrial.has(step.what);
      // Now and then something is reported just before Stripe gets to end the trial.
      if (isPossible && !takeStep(payer, standing, time, step, report)) return;
      if (isPossible && !isOver) continue;
      if (!isOver) standing.trialEndAt = time;
      time += secondMs;
      if (!endTrial(standing, plan, time, report)) return;
      if (isPossible) continue;
    }
    if (!takeStep(payer, standing, time, step, report)) return;
  }
  const { trialEndAt, cancelAt } = standing;
  if (cancelAt !== null) {
    // It is reported once more before Stripe gets to end it.
    if (time >= cancelAt) report("updated", time, { metadata: {} });
    standing.status = "canceled";
    report("deleted", Math.max(time, cancelAt) + secondMs, undefined, cancelAt);
  } else if (standing.status === "trialing") {
    endTrial(standing, plan, Math.max(time, trialEndAt ?? 0), report);
  }
}

type Report = (type: string, at: number, previous?: JsonObject, endedAt?: number | null) => void;

/** What may befall a subscription of which nothing was paid yet. */
const whatsOfTrial: ReadonlySet<Step["what"]> = new Set([
  ...(["quantity", "price", "addItem", "dropItem", "discount", "dropDiscounts"] as const),
  ...(["pauseCollection", "resumeCollection", "cancelAtPeriodEnd", "cancel"] as const),
  "cancelLater",
]);

/** @returns whether it goes on */
function isPaidAtLast(
  standing: Standing,
  plan: SubscriptionPlan,
  time: number,
  report: Report,
): boolean {
  const isNever = plan.turns === "never";
  standing.status = isNever ? "incomplete_expired" : "active";
  report("updated", time, { status: "incomplete" }, isNever ? time : null);
  return !isNever;
}

/** @returns whether it goes on */
function endTrial(standing: Standing, { turns }: SubscriptionPlan, time: number, report: Report) {
  if (turns === "never") {
    standing.status = "canceled";
    report("deleted", time, undefined, standing.trialEndAt);
    return false;
  }
  standing.status = turns;
  report(turns === "paused" ? "paused" : "updated", time, { status: "trialing" });
  return true;
}

/** @returns whether it goes on */
function takeStep(
  payer: Payer,
  standing: Standing,
  time: number,
  step: Step,
  report: Report,
): boolean {
  if (step.what === "cancel") {
    standing.status = "canceled";
    report("deleted", after(time, { days: 0, seconds: step.gap.days % 3 }), undefined, time);
    return false;
  }
  const previous = applyStep(payer, standing, time, step);
  const native = { pause: "paused", resume: "resumed" } as const;
  const type = step.what === "pause" || step.what === "resume" ? native[step.what] : "updated";
  report(type, time, previous);
  if (step.what === "renew") pay(payer, standing, time, step);
  return true;
}

/** Changes the standing as the step says; what the changed fields were before. */
function applyStep(payer: Payer, standing: Standing, time: number, step: Step): JsonObject {
  const [first, ...others] = standing.items;
  const statusBefore = { status: standing.status };
  switch (step.what) {
    case "renew":
      return { latest_invoice: null };
    case "quantity":
    case "price":
      if (first === undefined) return {};
      const price =
        step.what === "price" ? step.price : { ...first.price, quantity: step.price.quantity };
      standing.items = [{ id: first.id, price }, ...others];
      return { items: {} };
    case "addItem":
      standing.items = [...standing.items, { id: payer.id("si"), price: step.price }];
      return { items: {} };
    case "dropItem":
      if (others.length > 0) standing.items = others;
      return { items: {} };
    case "currency":
      standing.currency = step.currency;
      standing.discounts = [];
      return { currency: payer.who.currency.toLowerCase() };
    case "discount":
      addDiscount(payer, standing, time, step.discount);
      return { discounts: [] };
    case "dropDiscounts":
      standing.discounts = [];
      return { discounts: [] };
    case "pauseCollection":
    case "resumeCollection":
      standing.collectionPaused = step.what === "pauseCollection";
      return { pause_collection: null };
    case "pause":
      standing.status = "paused";
      return statusBefore;
    case "pastDue":
      standing.status = "past_due";
      return statusBefore;
    case "unpaid":
      standing.status = "unpaid";
      return statusBefore;
    case "resume":
    case "recover":
      standing.status = "active";
      return statusBefore;
    case "cancelAtPeriodEnd":
      standing.cancelAtPeriodEnd = !standing.cancelAtPeriodEnd;
      return { cancel_at_period_end: !standing.cancelAtPeriodEnd };
    case "cancelLater":
      standing.cancelAt = after(time, step.discount.lasts) + secondMs;
      return { cancel_at: null };
    case "cancel":
    default:
      throw new Error("a cancellation is distinguished");
  }
}

function addDiscount(payer: Payer, standing: Standing, time: number, plan: DiscountPlan): void {
  const { percentOff, amountOff, duration } = plan;
  const worth =
    percentOff === null
      ? { amountOff: stripeAmount(amountOff, standing.currency), currency: standing.currency }
      : { percentOff };
  const object = discountObject({
    id: payer.id("di"),
    ...worth,
    duration,
    startAt: time,
    endAt: duration === "repeating" ? after(time, plan.lasts) + dayMs : null,
    version: payer.who.version,
  });
  standing.discounts = [...standing.discounts, { plan, object }];
}

function snapshot(
  payer: Payer,
  plan: SubscriptionPlan,
  standing: Standing,
  endedAt: number | null,
): JsonObject {
  const { id, status, createdAt, currency, trialEndAt, cancelAtPeriodEnd, cancelAt } = standing;
  const discountsOf = (isOfItem: boolean) =>
    standing.discounts
      .filter((discount) => discount.plan.isOfItem === isOfItem)
      .map(({ object }) => object);
  return subscriptionObject({
    id,
    customer: payer.who.customer,
    currency,
    status,
    createdAt,
    version: payer.who.version,
    trialEndAt,
    endedAt,
    cancelAtPeriodEnd,
    ...(cancelAt === null ? {} : { cancelAt }),
    collectionPaused: standing.collectionPaused,
    discounts: discountsOf(false),
    items: standing.items.map((item, index) => ({
      id: item.id,
      price: sentPrice(item.price, currency, plan),
      ...(item.price.isMetered ? {} : { quantity: item.price.quantity }),
      discounts: index === 0 ? discountsOf(true) : [],
    })),
  });
}

function sentPrice(price: Price, currency: string, plan: SubscriptionPlan): JsonObject {
  const { sku, isFractional, isMetered } = price;
  const amount = stripeAmount(price.unitAmount, currency);
  return priceObject({
    id: `price_${sku}_${price.unitAmount}`,
    product: sku,
    currency,
    unitAmount: amount,
    ...(isFractional ? { unitAmountDecimal: `${amount}.25` } : {}),
    interval: plan.interval,
    intervalCount: plan.interval === "year" ? 1 : plan.intervalCount,
    usageType: isMetered ? "metered" : "licensed",
  });
}

/** A paid invoice of the items; now and then with a credit, as a proration has. */
function pay(payer: Payer, standing: Standing, time: number, step: Step): void {
  if (standing.currency !== payer.who.currency) return;
  const lines = standing.items.map(({ price }): BoughtLine => {
    const amount = price.unitAmount * BigInt(price.quantity);
    return { sku: price.sku, amount, discount: price.isFractional ? amount / 3n : 0n };
  });
  const net = lines.reduce((sum, { amount, discount }) => sum + amount - discount, 0n);
  const credit = step.price.isMetered ? net / 4n : 0n;
  if (credit > 0n) lines.push({ sku: step.price.sku, amount: -credit, discount: 0n });
  emitPayment(payer, time, lines, standing.id, net - credit, step.fate);
}
