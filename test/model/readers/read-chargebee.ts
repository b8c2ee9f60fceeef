/** The model's own reading of Chargebee's events, from docs/providers and `definitions.md`. */
import type { BareFact, Item, Phase } from "../facts.js";
import {
  type Fraction,
  fraction,
  fractionOfText,
  isLess,
  minus,
  over,
  times,
  zero,
} from "../fraction.js";
import { at, list, must, number, text } from "./json.js";
import { monthsFactor } from "./read-subscription.js";
import { seconds } from "./stripe-values.js";

/** In the stories all objects of an event are as of the event. */
export function chargebeeReportedAt(event: unknown): number {
  return seconds(event, "occurred_at");
}

export function readChargebee(event: unknown): readonly BareFact[] {
  const content = at(event, "content");
  const type = must(text(event, "event_type"), "a type");
  const transaction = at(content, "transaction");
  const invoice = at(content, "invoice");
  const subscription = at(content, "subscription");
  const customer = at(content, "customer");
  return [
    ...(transaction === undefined ? [] : readTransaction(event, transaction)),
    ...(invoice === undefined ? [] : readInvoice(invoice)),
    ...(subscription === undefined ? [] : [readSubscription(event, type, subscription)]),
    ...(customer === undefined ? [] : readCustomer(customer)),
  ];
}

function readTransaction(event: unknown, transaction: unknown): BareFact[] {
  const id = must(text(transaction, "id"), "a transaction");
  const date = seconds(transaction, "date");
  const account = must(text(transaction, "customer_id"), "a customer");
  const currency = currencyOf(transaction);
  const money = { amount: minor(transaction, "amount"), currency, account };
  if (text(transaction, "type") === "payment") {
    const sale = { kind: "sale", payment: id, at: date, ...money, country: null } as const;
    const links = list(transaction, "linked_invoices").map((paid): BareFact => ({
      kind: "link",
      payment: id,
      purchase: must(text(paid, "invoice_id"), "an invoice"),
      part: partOf(paid),
    }));
    return [{ ...sale, type: null, lines: [] }, ...links];
  }
  const payment = must(text(transaction, "refunded_txn_id"), "a payment");
  const failedAt = text(transaction, "status") === "success" ? null : chargebeeReportedAt(event);
  if (text(transaction, "payment_method") === "chargeback") {
    const { amount } = money;
    const moments = { withdrawnAt: date, returnedAt: failedAt, certainty: 2 } as const;
    return [{ kind: "dispute", dispute: id, payment, amount, currency, ...moments }];
  }
  const nowhere = { sku: null, country: null };
  const dated = { at: failedAt ?? date, failedAt };
  return [{ kind: "refund", refund: id, payment, ...dated, ...money, ...nowhere }];
}

function readInvoice(invoice: unknown): BareFact[] {
  const purchase = must(text(invoice, "id"), "an invoice");
  const links = list(invoice, "linked_payments").map((paid): BareFact => ({
    kind: "link",
    payment: must(text(paid, "txn_id"), "a payment"),
    purchase,
    part: partOf(paid),
  }));
  return [
    {
      kind: "purchase",
      purchase,
      country: text(invoice, "billing_address", "country"),
      account: must(text(invoice, "customer_id"), "a customer"),
      type: "subscription",
      lines: list(invoice, "line_items").map((line) => ({
        sku: must(text(line, "entity_id"), "an item price"),
        weight: minor(line, "amount"),
      })),
      tax: minor(invoice, "tax"),
      total: minor(invoice, "total"),
    },
    ...links,
  ];
}

function readSubscription(event: unknown, type: string, subscription: unknown): BareFact {
  const status = must(text(subscription, "status"), "a status");
  const isFirst = type === "subscription_created";
  const phase: Phase = status === "cancelled" ? "ended" : isFirst ? "started" : "changed";
  const now = chargebeeReportedAt(event);
  const begins = type === "subscription_activated" ? "activated_at" : null;
  const field = { ended: "cancelled_at", started: "started_at", changed: begins, expired: null };
  const name = field[phase];
  const from = name === null ? now : seconds(subscription, name);
  const counts = status === "active" || status === "non_renewing";
  const ends = list(subscription, "discounts").flatMap((off) => {
    const end = number(off, "apply_till");
    return end !== null && end * 1000 > from ? [end * 1000] : [];
  });
  const moments = counts ? [from, ...ends] : [from];
  return {
    kind: "change",
    subscription: must(text(subscription, "id"), "a subscription"),
    phase,
    account: must(text(subscription, "customer_id"), "a customer"),
    currency: counts ? currencyOf(subscription) : "",
    steps: moments.map((time) => ({
      at: time,
      items: counts ? itemsAt(subscription, time) : [],
    })),
  };
}

/** An amount off is shared by the items in whole units, the remainder to the largest. */
function itemsAt(subscription: unknown, time: number): Item[] {
  const items = list(subscription, "subscription_items");
  const amounts = items.map((item) => minor(item, "amount"));
  const [off] = list(subscription, "discounts").filter((each) => {
    const end = number(each, "apply_till");
    return end === null || end * 1000 > time;
  });
  const perMonth = monthsFactor(
    must(text(subscription, "billing_period_unit"), "a unit"),
    must(number(subscription, "billing_period"), "a period"),
  );
  return reduced(amounts, off).map((left, index) => {
    const sku = must(text(items[index], "item_price_id"), "an item price");
    return { item: sku, sku, monthly: times(left, perMonth) };
  });
}

function reduced(amounts: readonly bigint[], off: unknown): Fraction[] {
  const percent = number(off, "percentage");
  if (percent !== null) {
    const left = minus(fraction(100n), fractionOfText(String(percent)));
    return amounts.map((amount) => over(times(fraction(amount), left), fraction(100n)));
  }
  const less = BigInt(number(off, "amount") ?? 0);
  const total = amounts.reduce((sum, amount) => sum + amount, 0n);
  if (less >= total) return amounts.map(() => zero);
  const shares = amounts.map((amount) => (less * amount) / total);
  const rest = shares.reduce((left, share) => left - share, less);
  const largest = amounts.indexOf(amounts.reduce((best, one) => (one > best ? one : best)));
  return amounts.map((amount, index) => {
    const share = (shares[index] ?? 0n) + (index === largest ? rest : 0n);
    const left = fraction(amount - share);
    return isLess(left, zero) ? zero : left;
  });
}

function readCustomer(customer: unknown): BareFact[] {
  const country = text(customer, "billing_address", "country");
  const account = must(text(customer, "id"), "a customer");
  return country === null ? [] : [{ kind: "customer", account, country }];
}

function partOf(paid: unknown) {
  return { amount: minor(paid, "applied_amount"), at: seconds(paid, "applied_at") };
}

/** Of the currencies of the stories, Chargebee's units are those of ISO 4217. */
function minor(object: unknown, name: string): bigint {
  return BigInt(must(number(object, name), name));
}

function currencyOf(object: unknown): string {
  return must(text(object, "currency_code"), "a currency");
}
