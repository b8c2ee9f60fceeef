/** The model's own reading of form A records (`definitions.md`, Interface: Form A). */
import { exponentOf, type BareFact, type Item, type Phase } from "../facts.js";
import { fraction, fractionOfText, rounded, tenTo, times } from "../fraction.js";
import { must, number, text } from "./json.js";
import { monthsFactor } from "./read-subscription.js";

/** @param identity the event's own: `event_id` */
export function readRecord(record: unknown, receivedAt: number): readonly BareFact[] {
  const identity = must(text(record, "event_id"), "an event id");
  const currency = must(text(record, "currency"), "a currency");
  const amount = rounded(
    times(
      fractionOfText(String(must(number(record, "amount"), "an amount"))),
      tenTo(exponentOf(currency)),
    ),
  );
  const time = recordReportedAt(record, receivedAt);
  const sku = text(record, "product_id") ?? "";
  const named = text(record, "subscription_id");
  const account = text(record, "customer_id") ?? named ?? identity;
  const country = text(record, "customer_country");
  const pool = [text(record, "provider"), sku, amount, currency].join("|");
  const name = text(record, "product_name");
  const facts: BareFact[] = [];
  if (name !== null && sku !== "") facts.push({ kind: "naming", sku, name });
  const type = text(record, "event_type");
  const payment = text(record, "transaction_id") ?? identity;
  // A renewal need not say what its subscription is of.
  const purchase = `record ${named}`;
  if (type === "transaction.sale" && named !== null && sku === "" && amount > 0n) {
    facts.push({ kind: "link", payment, purchase, asOf: time });
  }
  if (type === "subscription.new" && named !== null && sku !== "") {
    const lines = [{ sku, weight: 1n }];
    facts.push({ kind: "purchase", purchase, country: null, type: "subscription", lines });
  }
  if ((type === "transaction.sale" || type === "subscription.new") && amount > 0n) {
    facts.push({
      kind: "sale",
      payment,
      at: time,
      amount,
      currency,
      account,
      country,
      type: type === "subscription.new" || named !== null ? "subscription" : "one_time",
      lines: sku === "" ? [] : [{ sku, weight: 1n }],
    });
  }
  if (type === "transaction.refund") {
    facts.push({
      kind: "refund",
      refund: identity,
      payment: text(record, "transaction_id"),
      at: time,
      amount,
      currency,
      failedAt: null,
      sku: text(record, "product_id"),
      account,
      country,
    });
  }
  const change = (subscription: string, phase: Phase, items: readonly Item[]): BareFact => {
    const steps = [{ at: time, items }];
    return { kind: "change", subscription, account, phase, currency, country, steps };
  };
  const unidentified = { kind: "unidentified", pool, at: time, account } as const;
  if (type === "subscription.new") {
    const subscription = named ?? `unidentified ${identity}`;
    const factor = monthsFactor(
      text(record, "interval") ?? "month",
      number(record, "interval_count") ?? 1,
    );
    const monthly = times(fraction(amount), factor);
    facts.push(change(subscription, "started", [{ item: "price", sku, monthly }]));
    if (named === null) facts.push({ ...unidentified, side: "start", subscription });
  }
  if (type === "subscription.churn") {
    const alone = { ...unidentified, side: "churn", subscription: "" } as const;
    facts.push(named === null ? alone : change(named, "ended", []));
  }
  return facts;
}

export function recordReportedAt(record: unknown, receivedAt: number): number {
  const occurredAt = text(record, "occurred_at");
  return occurredAt === null ? receivedAt : Date.parse(occurredAt);
}
