/** Random form A records: sales with refunds, subscriptions with and without an id. */
import * as fc from "fast-check";
import type { JsonObject } from "../../../ops/payloads/stripe.js";
import { exponentOf } from "../facts.js";
import { fraction, shown, tenTo, times } from "../fraction.js";
import {
  after,
  amounts,
  countries,
  type Drawn,
  gaps,
  momentBefore,
  pastCurrencies,
  secondMs,
  type Script,
  starts,
} from "./story.js";

const kinds = fc.constantFrom(
  ...([
    "sale",
    "refunded",
    "refund alone",
    "numbered alike",
    "subscription",
    "unidentified",
  ] as const),
);

export const recordPlans = fc.record({
  kind: kinds,
  provider: fc.constantFrom("custom", "gumroad", "apple"),
  start: starts,
  gaps: fc.array(gaps, { minLength: 1, maxLength: 4 }),
  amount: amounts,
  currency: pastCurrencies,
  country: countries,
  sku: fc.constantFrom(null, "sku-one", "sku-two"),
  percent: fc.constantFrom(100, 40),
  /** The product a refund names; null: that of the sale. */
  refundSku: fc.constantFrom(null, null, "sku-one", "sku-two"),
  /** In which a sale is given back; null: its own. */
  refundCurrency: fc.constantFrom(null, null, null, "EUR", "USD", "GBP"),
  interval: fc.constantFrom("month", "year", "week", "day"),
  intervalCount: fc.constantFrom(1, 3),
  /** Whether a renewal says what it is of, as its subscription does. */
  renewals: fc.constantFrom("named", "bare"),
  /** Whose a subscription is in the end: its first customer's, another's, or nobody says. */
  lastCustomer: fc.constantFrom("first", "first", "other", "nothingReported"),
});
export type RecordPlan = Drawn<typeof recordPlans>;

/**
 * @param position makes the moments of several plans differ, so that pairs are unambiguous
 * @param send to the ingest endpoint, or to a webhook
 */
export function emitRecords(
  script: Script,
  plan: RecordPlan,
  position: number,
  send = (record: JsonObject) => script.record(record),
): void {
  const start = momentBefore(script.end, plan.start) + position;
  const say = (
    event_type: string,
    at: number,
    amount: bigint,
    more: JsonObject = {},
    currency = plan.currency,
  ) => {
    if (at > script.end) return;
    const record: JsonObject = {
      provider: plan.provider,
      event_type,
      amount: shown(times(fraction(amount), tenTo(-exponentOf(currency))), exponentOf(currency)),
      currency,
      occurred_at: new Date(at).toISOString(),
      ...(plan.sku === null ? {} : { product_id: plan.sku }),
      ...(plan.country === null ? {} : { customer_country: plan.country }),
      ...more,
    };
    send(Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)));
  };
  const period = { interval: plan.interval, interval_count: plan.intervalCount };
  const part = (plan.amount * BigInt(plan.percent)) / 100n;
  switch (plan.kind) {
    case "sale":
      say("transaction.sale", start, plan.amount);
      return;
    case "refunded": {
      const transaction_id = script.id("sale");
      say("transaction.sale", start, plan.amount, { transaction_id });
      const [gap = { days: 1, seconds: 0 }] = plan.gaps;
      const refundCurrency = plan.refundCurrency ?? plan.currency;
      const refundedAt = after(start, gap) + secondMs;
      const product = plan.refundSku === null ? {} : { product_id: plan.refundSku };
      say("transaction.refund", refundedAt, part, { transaction_id, ...product }, refundCurrency);
      return;
    }
    case "refund alone":
      say("transaction.refund", start, plan.amount);
      return;
    case "numbered alike": {
      const number = script.id("number");
      say("transaction.sale", start, plan.amount, { transaction_id: number });
      say("transaction.refund", start + secondMs, part, { event_id: number });
      return;
    }
    case "subscription":
      emitNamed(script, plan, start, say, period);
      return;
    case "unidentified":
      emitUnidentified(plan, start, say, period);
      return;
  }
}

type Say = (type: string, at: number, amount: bigint, more?: JsonObject) => void;

/** New, paid again, new price and product, paid for that, ended, and back. */
function emitNamed(script: Script, plan: RecordPlan, start: number, say: Say, period: JsonObject) {
  const named = { subscription_id: script.id("subscription"), customer_id: script.id("customer") };
  const others = { first: named.customer_id, other: script.id("customer"), nothingReported: null };
  const last = { ...named, customer_id: others[plan.lastCustomer] };
  const other = plan.sku === null ? {} : { product_id: "sku-two" };
  const renew = (at: number, amount: bigint, product: JsonObject) =>
    say("transaction.sale", at, amount, {
      ...named,
      ...(plan.renewals === "bare" ? { product_id: null } : product),
    });
  const acts = [
    (at: number) => renew(at, plan.amount, {}),
    (at: number) =>
      say("subscription.new", at, plan.amount + 100n, { ...last, ...period, ...other }),
    (at: number) => renew(at, plan.amount + 100n, other),
    (at: number) => say("subscription.churn", at, plan.amount, last),
    (at: number) => say("subscription.new", at, plan.amount, { ...named, ...period }),
  ];
  say("subscription.new", start, plan.amount, { ...named, ...period });
  let time = start;
  for (const [index, gap] of plan.gaps.entries()) {
    time = after(time, gap) + 1;
    acts[index]?.(time);
  }
}

/** All of one pool, so that pairs must be found: the amount, product and currency are fixed. */
function emitUnidentified(plan: RecordPlan, start: number, say: Say, period: JsonObject) {
  say("subscription.new", start, 1_500n, period);
  let time = start;
  for (const [index, gap] of plan.gaps.entries()) {
    time = after(time, gap) + secondMs;
    if (index % 2 === 0) say("subscription.churn", time, 1_500n);
    else say("subscription.new", time, 1_500n, period);
  }
}

/** The same, posted to a custom webhook. */
export function emitCustom(script: Script, plan: RecordPlan, position: number): void {
  emitRecords(script, plan, position, (record) => {
    const { provider: _, ...body } = record;
    const id = script.id("message");
    script.sent.push({ id, source: "custom", body: { event_id: id, ...body } });
  });
}
