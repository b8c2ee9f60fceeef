/**
 * Random histories of Lemon Squeezy customers. Beside each event lies, in its body, what the API
 * would have answered about it.
 */
import * as fc from "fast-check";
import {
  isoTime,
  type JsonObject,
  lemonEvent,
  type LemonObject,
  orderObject,
  type OrderInput,
} from "../../../ops/payloads/lemonsqueezy.js";
import {
  answerOf,
  invoiceObject,
  type InvoiceInput,
  listAnswer,
  priceAttributes,
  type SubscriptionInput,
  subscriptionObject,
} from "../../payloads/lemonsqueezy.js";
import {
  after,
  amounts,
  dayMs,
  type Drawn,
  gaps,
  momentBefore,
  secondMs,
  type Script,
  seldom,
  starts,
} from "./story.js";

/** One is called like a product of another provider. */
const names: Readonly<Record<number, string>> = { 31: "Team plan", 32: "Moon Phases", 33: "Knots" };
const products = fc.constantFrom<number>(31, 32, 33);

const refunds = fc.record({
  gap: gaps,
  /** Of the payment, in percent, each reported as all so far. */
  percents: fc.constantFrom([100], [50], [1, 33], [33, 100]),
  /** Who reports a refund of a first payment, and who counts less of it. */
  reported: fc.constantFrom("order", "invoice", "both", "less by the order"),
});
type Refund = Drawn<typeof refunds>;

const whats = fc.constantFrom(
  ...(["renew", "renew", "renew", "quantity", "plan", "pause", "unpause", "pastDue"] as const),
  ...(["unpaid", "recover", "cancel", "resume", "expire"] as const),
);
const steps = fc.record({
  what: whats,
  gap: gaps,
  product: products,
  price: amounts,
  quantity: fc.constantFrom<number>(1, 2, 7),
  refund: seldom(refunds),
});
type Step = Drawn<typeof steps>;

export const lemonPlans = fc.record({
  start: starts,
  currency: fc.constantFrom("USD", "EUR", "GBP", "JPY"),
  store: fc.constantFrom("USD", "EUR", "JPY"),
  product: products,
  price: amounts,
  /** Of its checkout alone, which renewals keep. */
  ownPrice: seldom(amounts),
  quantity: fc.constantFrom<number>(1, 1, 3),
  interval: fc.constantFrom("month", "month", "year", "week"),
  intervalCount: fc.constantFrom<number>(1, 1, 6),
  trialDays: fc.constantFrom<number>(0, 0, 7),
  trial: fc.constantFrom("paid", "paid", "changed", "resumed", "cancelled"),
  /** For ever; of the order, and of no invoice, so that one can be reported from the other. */
  percentOff: fc.constantFrom<number>(0, 0, 0, 20, 50),
  refund: seldom(refunds),
  steps: fc.array(steps, { maxLength: 8, size: "large" }),
  oneOff: seldom(fc.record({ product: products, price: amounts, refund: seldom(refunds) })),
});
export type LemonPlan = Drawn<typeof lemonPlans>;

/** The subscription as it stands; a step edits it and reports it. */
interface Standing {
  readonly id: number;
  readonly item: number;
  readonly order: number;
  readonly createdAt: number;
  readonly trialEndsAt: number | null;
  /** As the API shows it. */
  readonly orderShown: JsonObject;
  status: SubscriptionInput["status"];
  product: number;
  price: { readonly id: number; readonly amount: bigint };
  quantity: number;
  endsAt: number | null;
}

export function emitLemonSqueezy(script: Script, plan: LemonPlan, customer: number): void {
  const start = momentBefore(script.end, plan.start);
  const money = { customer, currency: plan.currency, ...rateOf(plan.currency) };
  if (plan.oneOff !== null) {
    const { product, price, refund } = plan.oneOff;
    const order = { ...money, id: script.number(), product, total: price, tax: price / 6n };
    emitOrder(script, order, start, refund);
  }
  const isTrial = plan.trialDays > 0;
  const [order, price] = [script.number(), script.number()];
  const full = isTrial ? 0n : (plan.ownPrice ?? plan.price) * BigInt(plan.quantity);
  const discount = (full * BigInt(plan.percentOff)) / 100n;
  const tax = (full - discount) / 6n;
  const paid = { ...money, total: full - discount + tax, tax, discount };
  const what = { product: plan.product, priceId: price, quantity: plan.quantity };
  const ordered = { ...paid, ...what, id: order };
  const standing: Standing = {
    id: script.number(),
    item: script.number(),
    order,
    createdAt: start,
    trialEndsAt: isTrial ? start + plan.trialDays * dayMs : null,
    orderShown: orderObject({ ...ordered, createdAt: start }).attributes,
    status: isTrial ? "on_trial" : "active",
    product: plan.product,
    price: { id: price, amount: plan.price },
    quantity: plan.quantity,
    endsAt: null,
  };
  emitOrder(script, ordered, start, null);
  const say: Say = (name, time) => report(script, plan, customer, standing, name, time);
  say("subscription_created", start + secondMs);
  let time = start + 2 * secondMs;
  if (standing.trialEndsAt === null) {
    emitFirstInvoice(script, { ...paid, id: script.number() }, ordered, standing, plan);
  } else {
    emitTrial(plan, standing, standing.trialEndsAt, say);
    if (plan.trial === "cancelled") return;
    standing.status = "active";
    time = standing.trialEndsAt + secondMs;
    say("subscription_updated", time);
    invoice(script, standing, paidBy(money, standing), "renewal", time, null);
  }
  for (const step of plan.steps) {
    time = after(time, step.gap) + 2 * secondMs;
    takeStep(script, money, standing, step, time, say);
    if (standing.status === "expired") return;
  }
}

/** Reports the subscription as it stands. */
type Say = (name: string, time: number) => void;

function emitTrial(plan: LemonPlan, standing: Standing, trialEndsAt: number, say: Say): void {
  const become = (status: Standing["status"], name: string, time: number) => {
    standing.status = status;
    standing.endsAt = status === "on_trial" ? null : trialEndsAt;
    say(name, time);
  };
  const { createdAt } = standing;
  if (plan.trial === "changed") become("on_trial", "subscription_updated", createdAt + dayMs);
  if (plan.trial !== "resumed" && plan.trial !== "cancelled") return;
  become("cancelled", "subscription_cancelled", createdAt + dayMs);
  if (plan.trial === "resumed") become("on_trial", "subscription_resumed", createdAt + 2 * dayMs);
  else become("expired", "subscription_expired", trialEndsAt + secondMs);
}

type Money = Pick<InvoiceInput, "customer" | "currency" | "rate">;

function takeStep(
  script: Script,
  money: Money,
  standing: Standing,
  { what, product, price, quantity, refund }: Step,
  time: number,
  say: Say,
): void {
  const become = (status: Standing["status"], name: string) => {
    standing.status = status;
    say(name, time);
  };
  switch (what) {
    case "renew":
      invoice(script, standing, paidBy(money, standing), "renewal", time, refund);
      return say("subscription_updated", time + secondMs);
    case "plan":
      Object.assign(standing, { product, price: { id: script.number(), amount: price } });
      say("subscription_updated", time);
      return invoice(
        script,
        standing,
        { ...money, total: price },
        "updated",
        time + secondMs,
        refund,
      );
    case "quantity":
      standing.quantity = quantity;
      return say("subscription_updated", time);
    case "pause":
      return become("paused", "subscription_paused");
    case "unpause":
      return become("active", "subscription_unpaused");
    case "pastDue":
      return become("past_due", "subscription_updated");
    case "unpaid":
      return become("unpaid", "subscription_updated");
    case "recover":
      invoice(script, standing, paidBy(money, standing), "renewal", time, refund, true);
      standing.status = "active";
      return say("subscription_updated", time + secondMs);
    case "cancel":
      standing.endsAt = time + 10 * dayMs;
      return become("cancelled", "subscription_cancelled");
    case "resume":
      standing.endsAt = null;
      return become("active", "subscription_resumed");
    case "expire":
      standing.endsAt = time;
      return become("expired", "subscription_expired");
  }
}

function report(
  script: Script,
  plan: LemonPlan,
  customer: number,
  standing: Standing,
  name: string,
  updatedAt: number,
): void {
  const { price, orderShown, ...rest } = standing;
  const object = subscriptionObject({
    ...rest,
    customer,
    price: price.id,
    productName: nameOf(standing.product),
    updatedAt,
    ...(standing.status === "paused" ? { pause: "void" } : {}),
  });
  const { interval, intervalCount } = plan;
  const listPath = `/v1/discount-redemptions?filter[order_id]=${standing.order}&page[size]=100`;
  send(script, name, updatedAt, object, {
    [`/v1/prices/${price.id}`]: answerOf(
      "prices",
      price.id,
      priceAttributes({ unitPrice: price.amount, interval, intervalCount }),
    ),
    "/v1/stores/1": answerOf("stores", 1, { currency: plan.store }),
    [`/v1/orders/${standing.order}`]: answerOf("orders", standing.order, orderShown),
    ...discountAnswers(listPath, plan.percentOff),
  });
}

function discountAnswers(listPath: string, percentOff: number): JsonObject {
  const redeemed = { discount_id: 1, discount_amount: percentOff, discount_amount_type: "percent" };
  const list = percentOff === 0 ? [] : [redeemed];
  const discount = { duration: "forever", duration_in_months: null };
  return {
    [listPath]: listAnswer("discount-redemptions", list),
    "/v1/discounts/1": answerOf("discounts", 1, discount),
  };
}

/** An order by itself; a refund is reported by it alone. */
function emitOrder(
  script: Script,
  order: Omit<OrderInput, "createdAt">,
  createdAt: number,
  refund: Refund | null,
): void {
  const input = { ...order, createdAt, productName: nameOf(order.product) };
  send(script, "order_created", createdAt, orderObject(input));
  eachRefund(refund, createdAt, order.total, (refundedAmount, updatedAt) => {
    const object = orderObject({ ...input, refundedAmount, updatedAt });
    send(script, "order_refunded", updatedAt, object);
  });
}

/** The same payment as the order; its refunds may be reported by either or both. */
function emitFirstInvoice(
  script: Script,
  money: Money & { readonly id: number; readonly total: bigint; readonly tax: bigint },
  ordered: Omit<OrderInput, "createdAt">,
  standing: Standing,
  plan: LemonPlan,
): void {
  const { id: subscription, order, createdAt, product } = standing;
  const invoiceInput = { ...money, subscription, createdAt, reason: "initial" } as const;
  const began = answerOf("subscriptions", subscription, { order_id: order });
  const answers = { [`/v1/subscriptions/${subscription}`]: began };
  const first = invoiceObject({ ...invoiceInput, updatedAt: createdAt + 2 * secondMs });
  send(script, "subscription_payment_success", createdAt + 2 * secondMs, first, answers);
  const orderInput = { ...ordered, productName: nameOf(product), createdAt };
  eachRefund(plan.refund, createdAt + 2 * secondMs, money.total, (refundedAmount, updatedAt) => {
    const reported = plan.refund?.reported;
    const less = refundedAmount - 1n;
    const byOrder = reported === "less by the order" ? less : refundedAmount;
    if (reported !== "invoice" && byOrder > 0n) {
      // The lesser count comes last: it must not take away from the greater.
      const reportedAt = byOrder === less ? updatedAt + 2 * secondMs : updatedAt;
      const object = orderObject({ ...orderInput, refundedAmount: byOrder, updatedAt: reportedAt });
      send(script, "order_refunded", reportedAt, object);
    }
    if (reported !== "order") {
      const later = updatedAt + secondMs;
      const object = invoiceObject({ ...invoiceInput, refundedAmount, updatedAt: later });
      send(script, "subscription_payment_refunded", later, object, answers);
    }
  });
}

function invoice(
  script: Script,
  { id: subscription }: Standing,
  money: Money & { readonly total: bigint },
  reason: InvoiceInput["reason"],
  createdAt: number,
  refund: Refund | null,
  isRecovered = false,
): void {
  const tax = money.total / 6n;
  const input = { ...money, tax, id: script.number(), subscription, reason, createdAt };
  const object = invoiceObject(input);
  send(script, "subscription_payment_success", createdAt, object);
  if (isRecovered) send(script, "subscription_payment_recovered", createdAt, object);
  eachRefund(refund, createdAt, money.total, (refundedAmount, updatedAt) => {
    const refunded = invoiceObject({ ...input, refundedAmount, updatedAt });
    send(script, "subscription_payment_refunded", updatedAt, refunded);
  });
}

function eachRefund(
  refund: Refund | null,
  from: number,
  total: bigint,
  say: (refundedAmount: bigint, time: number) => void,
): void {
  let time = from;
  for (const percent of refund?.percents ?? []) {
    time = after(time, refund?.gap ?? { days: 0, seconds: 0 }) + 2 * secondMs;
    const amount = (total * BigInt(percent)) / 100n;
    if (amount > 0n) say(amount, time);
  }
}

function paidBy(money: Money, { price, quantity }: Standing) {
  return { ...money, total: price.amount * BigInt(quantity) };
}

/** Such that the twin in dollars, which the makers give the same digits, agrees. */
function rateOf(currency: string): { rate: string } {
  return { rate: currency === "JPY" ? "0.01" : "1.00000000" };
}

function nameOf(product: number): string {
  return names[product] ?? "";
}

/** Leaves out what would lie after the end. */
function send(
  script: Script,
  name: string,
  time: number,
  object: LemonObject,
  answers: JsonObject = {},
): void {
  if (time > script.end) return;
  const body = { ...lemonEvent({ name, object }), answers };
  const id = `${name} ${object.id} ${isoTime(time)}`;
  script.sent.push({ id, source: "lemonsqueezy", body });
}
