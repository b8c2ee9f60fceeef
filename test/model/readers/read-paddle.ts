/**
 * The model's own reading of Paddle's webhook bodies, from docs/providers and
 * `definitions.md`. It is asked about well-formed bodies only.
 */
import type { BareFact, Item, Phase } from "../facts.js";
import { fraction, times } from "../fraction.js";
import { at, list, must, number, text, timeIn } from "./json.js";
import { monthsFactor } from "./read-subscription.js";

export function readPaddle(event: unknown): readonly BareFact[] {
  const data = at(event, "data");
  const [entity] = must(text(event, "event_type"), "a type").split(".");
  if (entity === "transaction") return readTransaction(data);
  if (entity === "adjustment") return readAdjustment(event, data);
  if (entity === "address") {
    const account = must(text(data, "customer_id"), "a customer");
    return [{ kind: "customer", account, country: must(text(data, "country_code"), "a country") }];
  }
  return entity === "subscription" ? readSubscription(event, data) : [];
}

export function paddleReportedAt(event: unknown): number {
  return timeIn(event, "occurred_at");
}

function readTransaction(data: unknown): BareFact[] {
  const names = list(data, "details", "line_items").flatMap((line) => nameIn(line));
  const amount = minor(data, "details", "totals", "grand_total");
  if (text(data, "status") !== "completed" || amount === 0n) return names;
  const paid = list(data, "payments").filter((one) => text(one, "status") === "captured");
  const isCharge = text(data, "origin") === "subscription_charge";
  const isOfSubscription = text(data, "subscription_id") !== null;
  return [
    {
      kind: "sale",
      payment: must(text(data, "id"), "a transaction"),
      at: Math.max(...paid.map((one) => timeIn(one, "captured_at"))),
      amount,
      currency: must(text(data, "currency_code"), "a currency"),
      country: null,
      type: isCharge ? "one_time" : isOfSubscription ? "subscription" : null,
      tax: minor(data, "details", "totals", "grand_total_tax"),
      fee: minor(data, "details", "totals", "fee"),
      lines: list(data, "details", "line_items").map((line) => ({
        id: must(text(line, "id"), "a line's id"),
        sku: must(text(line, "product", "id"), "a product"),
        weight: minor(line, "totals", "subtotal") - minor(line, "totals", "discount"),
      })),
    },
    ...names,
  ];
}

function readAdjustment(event: unknown, data: unknown): BareFact[] {
  const id = must(text(data, "id"), "an adjustment");
  const payment = must(text(data, "transaction_id"), "a transaction");
  const status = text(data, "status");
  const money = {
    payment,
    amount: minor(data, "totals", "total"),
    currency: must(text(data, "currency_code"), "a currency"),
  };
  const reported = paddleReportedAt(event);
  const isApproved = status === "approved";
  const action = text(data, "action");
  const line = text(data, "type") === "full" ? null : text(list(data, "items")[0], "item_id");
  const from = line === null ? {} : { line };
  const tax = minor(data, "totals", "tax");
  if (action === "refund" && status !== "pending_approval") {
    const fact = { kind: "refund", refund: id, ...money, tax, sku: null, country: null } as const;
    const failedAt = isApproved ? null : reported;
    return [{ ...fact, at: reported, failedAt, ...from }];
  }
  if (!isApproved) return [];
  const dispute = { kind: "dispute", dispute: id, ...money, tax, ...from, certainty: 1 } as const;
  if (action === "chargeback") return [{ ...dispute, withdrawnAt: reported, returnedAt: null }];
  return action === "chargeback_reverse"
    ? [{ ...dispute, withdrawnAt: null, returnedAt: reported }]
    : [];
}

function readSubscription(event: unknown, data: unknown): BareFact[] {
  const subscription = must(text(data, "id"), "a subscription");
  const [phase, from] = begin(event, data);
  const status = text(data, "status") ?? "";
  const counts = phase !== "ended" && ["active", "past_due"].includes(status);
  const items = counts ? list(data, "items").flatMap(itemIn) : [];
  const facts: BareFact[] = [
    {
      kind: "change",
      subscription,
      account: must(text(data, "customer_id"), "a customer"),
      phase,
      currency: must(text(data, "currency_code"), "a currency"),
      steps: [{ at: from, items }],
    },
    ...list(data, "items").flatMap(nameIn),
  ];
  const payment = text(data, "transaction_id");
  if (payment === null) return facts;
  const purchase = { kind: "purchase", purchase: subscription, country: null } as const;
  return [
    ...facts,
    { ...purchase, type: "subscription", lines: [] },
    { kind: "link", payment, purchase: subscription },
  ];
}

/** From when the reported state counts. */
function begin(event: unknown, data: unknown): readonly [Phase, number] {
  const reported = paddleReportedAt(event);
  const status = text(data, "status");
  const type = text(event, "event_type");
  const started = timeIn(data, "started_at");
  if (status === "canceled") return ["ended", timeIn(data, "canceled_at")];
  const beginnings = ["subscription.created", "subscription.imported", "subscription.trialing"];
  if (beginnings.includes(type ?? "")) return ["started", started];
  if (status === "paused") return ["changed", timeIn(data, "paused_at")];
  const trial = text(list(data, "items")[0], "trial_dates", "ends_at");
  if (type === "subscription.activated") {
    const paidFrom = at(data, "current_billing_period");
    return ["changed", trial === null ? started : timeIn(paidFrom, "starts_at")];
  }
  // What is reported while the end of a trial is overdue is of the time before that.
  const isOverdue = status === "trialing" && trial !== null && Date.parse(trial) <= reported;
  if (isOverdue) return ["changed", Date.parse(trial) - 1];
  return ["changed", reported];
}

function itemIn(item: unknown): Item[] {
  const cycle = at(item, "price", "billing_cycle");
  if (cycle === undefined || at(item, "recurring") !== true) return [];
  const unit = fraction(minor(item, "price", "unit_price", "amount"));
  const quantity = fraction(BigInt(must(number(item, "quantity"), "a quantity")));
  const perMonth = monthsFactor(
    must(text(cycle, "interval"), "an interval"),
    must(number(cycle, "frequency"), "a frequency"),
  );
  return [
    {
      item: must(text(item, "price", "id"), "a price"),
      sku: must(text(item, "price", "product_id"), "a product"),
      monthly: times(times(unit, quantity), perMonth),
    },
  ];
}

function nameIn(holder: unknown): BareFact[] {
  const sku = text(holder, "product", "id");
  const name = text(holder, "product", "name");
  return sku === null || name === null ? [] : [{ kind: "naming", sku, name }];
}

function minor(value: unknown, ...path: string[]): bigint {
  return BigInt(must(text(value, ...path), path.join(".")));
}
