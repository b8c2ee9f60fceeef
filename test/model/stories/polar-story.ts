/** Random histories of Polar customers: a subscription with all that befalls it, and an order. */
import * as fc from "fast-check";
import {
  discountObject,
  fixedPrice,
  type JsonObject,
  orderObject,
  type OrderInput,
  polarEvent,
  refundObject,
  subscriptionObject,
} from "../../payloads/polar.js";
import {
  after,
  amounts,
  countries,
  dayMs,
  type Drawn,
  gaps,
  momentBefore,
  pastCurrencies,
  type Script,
  secondMs,
  seldom,
  starts,
  stripeAmount,
} from "./story.js";

/** One is called like a product of another provider. */
const names: Readonly<Record<number, string>> = { 51: "Team plan", 52: "Star Charts", 53: "Knots" };
const products = fc.constantFrom<number>(51, 52, 53);

const refunds = fc.record({
  gap: gaps,
  /** Of the payment, in percent, one after the other. */
  percents: fc.constantFrom([100], [50], [1, 33], [33, 67]),
  reported: fc.constantFrom("by both", "by the refund", "by the order", "as failed", "as failing"),
});
type Refund = Drawn<typeof refunds>;

const whats = fc.constantFrom(
  ...(["renew", "renew", "renew", "plan", "pause", "resume", "pastDue", "unpaid"] as const),
  ...(["recover", "cancel", "uncancel", "revoke"] as const),
);
const steps = fc.record({
  what: whats,
  gap: gaps,
  product: products,
  price: amounts,
  refund: seldom(refunds),
});

export const polarPlans = fc.record({
  start: starts,
  // Polar does not take the Kuwaiti dinar.
  currency: pastCurrencies,
  country: countries,
  product: products,
  price: amounts,
  interval: fc.constantFrom("month", "month", "year", "week", "day"),
  intervalCount: fc.constantFrom<number>(1, 1, 3, 14),
  trialDays: fc.constantFrom<number>(0, 0, 7),
  /** A tenth off, which Polar has taken off the amount already. */
  discount: fc.constantFrom(null, null, "once" as const, "forever" as const),
  hasFee: fc.boolean(),
  refund: seldom(refunds),
  steps: fc.array(steps, { maxLength: 8, size: "large" }),
  oneOff: seldom(fc.record({ product: products, price: amounts, refund: seldom(refunds) })),
});
export type PolarPlan = Drawn<typeof polarPlans>;

interface Standing {
  readonly id: number;
  readonly createdAt: number;
  readonly trialEndsAt: number | null;
  status: string;
  product: number;
  price: bigint;
  discount: PolarPlan["discount"];
  endsAtPeriodEnd: boolean;
}

const statusAfter: Readonly<Record<string, string>> = {
  pause: "paused",
  resume: "active",
  pastDue: "past_due",
  unpaid: "unpaid",
  recover: "active",
  revoke: "canceled",
};
const typeOf: Readonly<Record<string, string>> = {
  pause: "paused",
  resume: "resumed",
  pastDue: "past_due",
  revoke: "revoked",
  cancel: "canceled",
  uncancel: "uncanceled",
  renew: "cycled",
};

export function emitPolar(script: Script, plan: PolarPlan): void {
  const start = momentBefore(script.end, plan.start);
  const customer = script.number();
  if (plan.oneOff !== null) {
    const { product, price, refund } = plan.oneOff;
    pay(script, plan, { customer, product, price, at: start }, refund);
  }
  const trialEndsAt = plan.trialDays === 0 ? null : start + plan.trialDays * dayMs;
  const standing: Standing = {
    id: script.number(),
    createdAt: start,
    trialEndsAt,
    endsAtPeriodEnd: false,
    product: plan.product,
    price: plan.price,
    discount: plan.discount,
    status: trialEndsAt === null ? "active" : "trialing",
  };
  const payFor = (at: number, refund: Refund | null): void => {
    const { id: subscription, product } = standing;
    pay(script, plan, { customer, product, subscription, price: costs(standing), at }, refund);
  };
  report(script, plan, customer, standing, "created", start + secondMs);
  let time = trialEndsAt ?? start;
  if (trialEndsAt !== null) {
    standing.status = "active";
    report(script, plan, customer, standing, "active", trialEndsAt + secondMs);
  }
  payFor(time, plan.refund);
  for (const step of plan.steps) {
    const { what } = step;
    time = after(time, step.gap) + 2 * secondMs;
    if (what === "renew" && standing.discount === "once") standing.discount = null;
    if (what === "plan") Object.assign(standing, { product: step.product, price: step.price });
    if (what === "cancel" || what === "uncancel") standing.endsAtPeriodEnd = what === "cancel";
    standing.status = statusAfter[what] ?? standing.status;
    report(script, plan, customer, standing, typeOf[what] ?? "updated", time);
    if (what === "renew" || what === "recover") payFor(time, step.refund);
    if (what === "revoke") return;
  }
}

function costs({ price, discount }: Pick<Standing, "price" | "discount">): bigint {
  return discount === null ? price : price - price / 10n;
}

function report(
  script: Script,
  plan: PolarPlan,
  customer: number,
  { product, price, status, discount: duration, ...rest }: Standing,
  type: string,
  at: number,
): void {
  const { currency, country, interval, intervalCount } = plan;
  const inStripe = (amount: bigint): bigint => stripeAmount(amount, currency);
  const { createdAt } = rest;
  const object = subscriptionObject({
    ...rest,
    customer,
    country,
    product,
    currency,
    interval,
    intervalCount,
    status,
    productName: nameOf(product),
    modifiedAt: at,
    amount: inStripe(
      costs({
        price,
        discount: duration,
      }),
    ),
    endedAt: status === "canceled" ? at - secondMs : null,
    pausedAt: status === "paused" ? at : null,
    discount:
      duration &&
      discountObject({
        duration,
        basisPoints: 1e3,
        createdAt,
      }),
    prices: [
      fixedPrice({
        product,
        amount: inStripe(price),
        currency,
        createdAt,
      }),
    ],
  });
  send(script, `subscription.${type}`, at, object);
}

/** An order that is paid a second after it is made, and what is refunded of it. */
function pay(
  script: Script,
  { currency, country, hasFee }: PolarPlan,
  sold: Pick<OrderInput, "customer" | "product" | "subscription"> & { price: bigint; at: number },
  refund: Refund | null,
): void {
  const { price, at, ...rest } = sold;
  const inStripe = (amount: bigint): bigint => stripeAmount(amount, currency);
  const [net, tax] = [inStripe(price), inStripe(price / 6n)];
  const input = {
    ...rest,
    id: script.number(),
    currency,
    country,
    productName: nameOf(sold.product),
    createdAt: at,
    net,
    tax,
  };
  send(script, "order.created", at, orderObject({ ...input, status: "pending" }));
  send(script, "order.paid", at + secondMs, orderObject(input));
  const paid = hasFee ? { ...input, fee: inStripe(price / 20n) } : input;
  if (hasFee) send(script, "order.updated", at + 2 * secondMs, orderObject(paid));
  if (refund === null) return;
  const { reported } = refund;
  let [refunded, time] = [0n, at + 2 * secondMs];
  for (const percent of refund.percents) {
    const part = inStripe((price * BigInt(percent)) / 100n);
    if (part === 0n) continue;
    time = after(time, refund.gap) + 4 * secondMs;
    refunded += part;
    const { customer, subscription = null } = rest;
    const one = {
      id: script.number(),
      order: input.id,
      customer,
      subscription,
      currency,
      amount: part,
      createdAt: time,
    };
    const isSingle = reported !== "by the order" && reported !== "as failed";
    if (isSingle) send(script, "refund.created", time + secondMs, refundObject(one));
    if (reported === "by both" || reported === "by the order") {
      const total = orderObject({ ...paid, refunded, modifiedAt: time + 2 * secondMs });
      send(script, "order.refunded", time + 2 * secondMs, total);
    } else if (reported !== "by the refund") {
      const failed = refundObject({ ...one, status: "failed" });
      send(script, "refund.updated", time + 3 * secondMs, failed);
    }
  }
}

function send(script: Script, type: string, at: number, object: JsonObject): void {
  script.send("polar", at, "polar", () => polarEvent(type, at, object));
}

function nameOf(product: number): string {
  return names[product] ?? "";
}
