/** The model's own reading of Polar's webhook bodies, from docs/providers and `definitions.md`. */
import type { BareFact, Item, Phase } from "../facts.js";
import { fraction, times } from "../fraction.js";
import { at, list, must, number, text, timeIn } from "./json.js";
import { monthsFactor } from "./read-subscription.js";
import { currencyOf, minorOf } from "./stripe-values.js";

export function readPolar(event: unknown): readonly BareFact[] {
  const data = at(event, "data");
  const sku = text(data, "product", "id");
  const name = text(data, "product", "name");
  const naming = sku === null || name === null ? [] : [{ kind: "naming", sku, name } as const];
  return [...factsOf(event, data), ...naming];
}

export function polarReportedAt(event: unknown): number {
  return timeIn(event, "timestamp");
}

function factsOf(event: unknown, data: unknown): BareFact[] {
  const type = must(text(event, "type"), "a type");
  if (type.startsWith("order.")) return readOrder(event, data);
  if (type.startsWith("refund.")) return readRefund(event, data);
  return type.startsWith("subscription.") ? [readSubscription(event, data)] : [];
}

function readOrder(event: unknown, order: unknown): BareFact[] {
  const isPaid = ["paid", "partially_refunded", "refunded"].includes(text(order, "status") ?? "");
  const amount = minor(order, "total_amount");
  if (!isPaid || amount === 0n) return [];
  const payment = must(text(order, "id"), "an order");
  const fee = minor(order, "platform_fee_amount");
  const refunded = minor(order, "refunded_amount") + minor(order, "refunded_tax_amount");
  const currency = currencyOf(order);
  const total: BareFact = {
    kind: "refund_total",
    payment,
    at: polarReportedAt(event),
    amount: refunded,
    currency,
  };
  return [
    {
      kind: "sale",
      payment,
      at: timeIn(order, "created_at"),
      amount,
      currency,
      account: must(text(order, "customer_id"), "a customer"),
      country: text(order, "billing_address", "country"),
      type: text(order, "subscription_id") === null ? "one_time" : "subscription",
      lines: [
        {
          sku: must(text(order, "product_id"), "a product"),
          weight: 1n,
        },
      ],
      tax: minor(order, "tax_amount"),
      ...(fee > 0n && { fee }),
    },
    ...(refunded > 0n ? [total] : []),
  ];
}

function readRefund(event: unknown, refund: unknown): BareFact[] {
  const failedAt = text(refund, "status") === "failed" ? polarReportedAt(event) : null;
  return [
    {
      kind: "refund",
      refund: must(text(refund, "id"), "a refund"),
      payment: must(text(refund, "order_id"), "an order"),
      at: failedAt ?? timeIn(refund, "created_at"),
      amount: minor(refund, "amount") + minor(refund, "tax_amount"),
      currency: currencyOf(refund),
      failedAt,
      sku: null,
      country: null,
      account: must(text(refund, "customer_id"), "a customer"),
    },
  ];
}

function readSubscription(event: unknown, subscription: unknown): BareFact {
  const status = must(text(subscription, "status"), "a status");
  const isFirst = text(event, "type") === "subscription.created";
  const phase: Phase = status === "canceled" ? "ended" : isFirst ? "started" : "changed";
  const dated = { ended: "ended_at", started: "started_at" } as const;
  const from =
    phase === "ended" || phase === "started"
      ? timeIn(subscription, dated[phase])
      : polarReportedAt(event);
  const counts = status === "active" || status === "past_due";
  return {
    kind: "change",
    subscription: must(text(subscription, "id"), "a subscription"),
    account: must(text(subscription, "customer_id"), "a customer"),
    country: text(subscription, "customer", "billing_address", "country"),
    phase,
    currency: counts ? currencyOf(subscription) : "",
    steps: [{ at: from, items: counts ? [itemOf(subscription)] : [] }],
  };
}

/** A discount of one time is no reduction: its prices count. */
function itemOf(subscription: unknown): Item {
  const isOnce = text(subscription, "discount", "duration") === "once";
  const [price] = list(subscription, "prices");
  const amount = isOnce ? number(price, "price_amount") : number(subscription, "amount");
  const perMonth = monthsFactor(
    must(text(subscription, "recurring_interval"), "an interval"),
    must(number(subscription, "recurring_interval_count"), "a count"),
  );
  const monthly = minorOf(must(amount, "an amount"), currencyOf(subscription));
  return {
    item: must(text(subscription, "id"), "a subscription"),
    sku: must(text(subscription, "product_id"), "a product"),
    monthly: times(fraction(monthly), perMonth),
  };
}

function minor(object: unknown, name: string): bigint {
  return minorOf(must(number(object, name), name), currencyOf(object));
}
