/**
 * The model's own reading of Lemon Squeezy's webhook bodies, from docs/providers and
 * `definitions.md`. What its API would have answered lies beside the event, in `answers`.
 */
import type { BareFact, Item, Phase } from "../facts.js";
import { type Fraction, fraction, times } from "../fraction.js";
import { at, list, must, number, text, timeIn } from "./json.js";
import { monthsFactor } from "./read-subscription.js";

export function readLemonSqueezy(event: unknown): readonly BareFact[] {
  const object = at(event, "data");
  switch (text(object, "type")) {
    case "orders":
      return readOrder(object);
    case "subscription-invoices":
      return readInvoice(event, object);
    case "subscriptions":
      return readSubscription(event, object);
    case null:
    default:
      return [];
  }
}

export function lemonSqueezyReportedAt(event: unknown): number {
  return timeOf(at(event, "data"), "updated_at");
}

function readOrder(order: unknown): BareFact[] {
  const sku = idIn(order, "first_order_item", "product_id");
  const name = must(text(order, "attributes", "first_order_item", "product_name"), "a name");
  const naming = { kind: "naming", sku, name } as const;
  const payment = `order:${must(text(order, "id"), "an order")}`;
  const amount = minor(order, "total");
  if (amount === 0n) return [naming];
  const lines = [{ sku, weight: amount }];
  const sale = { kind: "sale", payment, ...moneyOf(order), type: null, lines } as const;
  return [sale, ...totalOf(order, payment, "order"), naming];
}

/** The initial invoice repeats the order its subscription began with. */
function readInvoice(event: unknown, invoice: unknown): BareFact[] {
  const subscription = idIn(invoice, "subscription_id");
  const isInitial = text(invoice, "attributes", "billing_reason") === "initial";
  const began = at(event, "answers", `/v1/subscriptions/${subscription}`, "data");
  const payment = isInitial
    ? `order:${idIn(began, "order_id")}`
    : `invoice:${must(text(invoice, "id"), "an invoice")}`;
  const money = moneyOf(invoice);
  const sale = { kind: "sale", payment, ...money, type: "subscription", lines: [] } as const;
  const purchase = purchaseOf(subscription);
  return [
    isInitial ? { ...sale, isSecondHand: true } : sale,
    { kind: "link", payment, purchase, asOf: money.at },
    ...totalOf(invoice, payment, "invoice"),
  ];
}

function moneyOf(object: unknown) {
  return {
    at: timeOf(object, "created_at"),
    amount: minor(object, "total"),
    tax: minor(object, "tax"),
    currency: must(text(object, "attributes", "currency"), "a currency"),
    country: null,
  };
}

function totalOf(object: unknown, payment: string, witness: string): BareFact[] {
  const amount = minor(object, "refunded_amount");
  if (amount === 0n) return [];
  const currency = must(text(object, "attributes", "currency"), "a currency");
  const time = timeOf(object, "updated_at");
  return [{ kind: "refund_total", payment, at: time, amount, currency, witness }];
}

function readSubscription(event: unknown, object: unknown): BareFact[] {
  const subscription = must(text(object, "id"), "a subscription");
  const name = text(event, "meta", "event_name");
  const status = must(text(object, "attributes", "status"), "a status");
  const sku = idIn(object, "product_id");
  const isFirst = name === "subscription_created";
  const phase: Phase = isFirst ? "started" : status === "expired" ? "ended" : "changed";
  const from = timeOf(object, isFirst ? "created_at" : "updated_at");
  const trialEnd = text(object, "attributes", "trial_ends_at");
  const end = text(object, "attributes", "ends_at");
  const isTrialOver = trialEnd === null || (end !== null && Date.parse(trialEnd) < Date.parse(end));
  const counts = ["active", "past_due"].includes(status) || (status === "cancelled" && isTrialOver);
  const items = counts ? [itemOf(event, object, sku)] : [];
  const store = `/v1/stores/${idIn(object, "store_id")}`;
  const currency = text(event, "answers", store, "data", "attributes", "currency") ?? "";
  const purchase = purchaseOf(subscription);
  const facts: BareFact[] = [
    {
      kind: "change",
      subscription,
      account: idIn(object, "customer_id"),
      phase,
      currency,
      steps: [{ at: from, items }],
    },
    {
      kind: "purchase",
      purchase,
      country: null,
      type: "subscription",
      lines: [{ sku, weight: 1n }],
    },
    { kind: "naming", sku, name: must(text(object, "attributes", "product_name"), "a name") },
  ];
  const payment = `order:${idIn(object, "order_id")}`;
  return isFirst ? [...facts, { kind: "link", payment, purchase, asOf: from }] : facts;
}

function itemOf(event: unknown, object: unknown, sku: string): Item {
  const path = `/v1/prices/${idIn(object, "first_subscription_item", "price_id")}`;
  const price = at(event, "answers", path, "data", "attributes");
  const quantity = number(object, "attributes", "first_subscription_item", "quantity") ?? 1;
  const listed = must(number(price, "unit_price"), "a price");
  const unit = fraction(BigInt(unitOfOrder(event, object) ?? listed));
  const perMonth = monthsFactor(
    must(text(price, "renewal_interval_unit"), "an interval"),
    must(number(price, "renewal_interval_quantity"), "a count"),
  );
  return {
    item: idIn(object, "first_subscription_item", "id"),
    sku,
    monthly: times(times(times(unit, fraction(BigInt(quantity))), perMonth), leftOf(event, object)),
  };
}

/** The price its order was charged at, in the store's currency, while it is of the same plan. */
function unitOfOrder(event: unknown, object: unknown): number | null {
  const answered = (path: string) => at(event, "answers", path, "data", "attributes");
  const order = answered(`/v1/orders/${idIn(object, "order_id")}`);
  const store = answered(`/v1/stores/${idIn(object, "store_id")}`);
  const unit = number(order, "first_order_item", "price");
  const price = number(order, "first_order_item", "price_id");
  const isSame = price === number(object, "attributes", "first_subscription_item", "price_id");
  const isHere = text(order, "currency") === text(store, "currency");
  return isSame && isHere && unit !== 0 ? unit : null;
}

/** Whatever the order showed: a trial's shows no discount. Those here last for ever. */
function leftOf(event: unknown, object: unknown): Fraction {
  const order = idIn(object, "order_id");
  const path = `/v1/discount-redemptions?filter[order_id]=${order}&page[size]=100`;
  const percents = list(at(event, "answers", path), "data").map((redemption) =>
    must(number(redemption, "attributes", "discount_amount"), "a percentage"),
  );
  return percents.map((off) => fraction(BigInt(100 - off), 100n)).reduce(times, fraction(1n));
}

function purchaseOf(subscription: string): string {
  return `subscription:${subscription}`;
}

function idIn(object: unknown, ...path: string[]): string {
  return String(must(number(object, "attributes", ...path), path.join(".")));
}

function minor(object: unknown, name: string): bigint {
  return BigInt(must(number(object, "attributes", name), name));
}

function timeOf(object: unknown, name: string): number {
  return timeIn(object, "attributes", name);
}
