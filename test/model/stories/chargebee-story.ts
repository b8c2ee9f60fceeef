/** Random histories of Chargebee customers: a subscription, its invoices and who pays them. */
import * as fc from "fast-check";
import {
  chargebeeEvent,
  customerObject,
  invoiceObject,
  type JsonObject,
  subscriptionObject,
  type SubscriptionInput,
  transactionObject,
} from "../../payloads/chargebee.js";
import {
  after,
  amounts,
  countries,
  dayMs,
  type Drawn,
  gaps,
  momentBefore,
  type Script,
  secondMs,
  seldom,
  starts,
} from "./story.js";

const products = fc.constantFrom("cb_alpha", "cb_beta", "cb_gamma");
const refunds = fc.record({
  gap: gaps,
  percent: fc.constantFrom<number>(100, 100, 50, 1),
  what: fc.constantFrom("refund", "refund", "chargeback", "reversal", "failed", "failing"),
});
const steps = fc.record({
  what: fc.constantFrom(
    ...(["renew", "renew", "renew", "items", "pause", "resume", "nonRenewing"] as const),
    ...(["cancel", "reactivate"] as const),
  ),
  gap: gaps,
  price: amounts,
  addon: seldom(amounts),
  /** In percent, what the first of two payments pays of the invoice; null: one pays all. */
  first: fc.constantFrom(null, null, 30),
  refund: seldom(refunds),
});
type Step = Drawn<typeof steps>;

export const chargebeePlans = fc.record({
  start: starts,
  // Of the Kuwaiti dinar only the newest quote is bundled.
  currency: fc.constantFrom("USD", "EUR", "GBP", "JPY", "INR"),
  country: countries,
  product: products,
  price: amounts,
  unit: fc.constantFrom("month", "month", "year", "week"),
  period: fc.constantFrom<number>(1, 1, 3),
  trialDays: fc.constantFrom<number>(0, 0, 7),
  /** Off the whole, for ever or for two months. */
  discount: seldom(fc.record({ isFixed: fc.boolean(), ends: fc.boolean() })),
  steps: fc.array(steps, { maxLength: 8, size: "large" }),
});
export type ChargebeePlan = Drawn<typeof chargebeePlans>;

const statusAfter: Readonly<Record<string, string>> = {
  pause: "paused",
  resume: "active",
  nonRenewing: "non_renewing",
  cancel: "cancelled",
  reactivate: "active",
};
const typeAfter: Readonly<Record<string, string>> = {
  renew: "renewed",
  items: "changed",
  pause: "paused",
  resume: "resumed",
  nonRenewing: "changed",
  cancel: "cancelled",
  reactivate: "reactivated",
};

export function emitChargebee(script: Script, plan: ChargebeePlan): void {
  const start = momentBefore(script.end, plan.start);
  const { currency, country, product, unit, period, discount } = plan;
  const [id, customer] = [script.id("cb_sub"), script.id("cb_customer")];
  const trialEndsAt = plan.trialDays === 0 ? null : start + plan.trialDays * dayMs;
  const items: SubscriptionInput["items"] = [{ price: product, amount: plan.price }];
  const taken: JsonObject | null = discount && {
    id: "d",
    index: 0,
    included_in_mrr: true,
    apply_on: "invoice_amount",
    created_at: start / 1e3,
    duration_type: discount.ends ? "limited_period" : "forever",
    ...(discount.ends && { apply_till: Math.floor((start + 60 * dayMs) / 1e3) }),
    ...(discount.isFixed
      ? {
          type: "fixed_amount",
          amount: 7,
          currency_code: currency,
        }
      : {
          type: "percentage",
          percentage: 12.5,
        }),
  };
  const state = {
    id,
    customer,
    currency,
    unit,
    period,
    items,
    startedAt: start,
    trialEndsAt,
    status: trialEndsAt === null ? "active" : "in_trial",
    ...(taken && { discounts: [taken] }),
  };
  const say = (type: string, version: number, more: Partial<SubscriptionInput> = {}): void =>
    send(script, `subscription_${type}`, version, {
      subscription: subscriptionObject({ ...state, ...more, version }),
      customer: customerObject({ customer, country, at: version }),
    });
  say("created", start + secondMs);
  let time = start + 2 * secondMs;
  if (trialEndsAt !== null) {
    state.status = "active";
    time = trialEndsAt + secondMs;
    say("activated", time, { activatedAt: trialEndsAt });
  }
  for (const step of plan.steps) {
    const { what, addon } = step;
    if ((state.status === "cancelled") !== (what === "reactivate")) continue;
    time = after(time, step.gap) + 5 * secondMs;
    state.status = statusAfter[what] ?? state.status;
    if (what === "items") {
      const changed = { price: product, amount: step.price };
      const added = { price: "cb_addon", amount: addon ?? 0n, type: "addon" as const };
      state.items = addon === null ? [changed] : [changed, added];
    }
    const isOver = what === "cancel";
    const now = { pausedAt: what === "pause" ? time : null, cancelledAt: isOver ? time : null };
    say(typeAfter[what] ?? "changed", time, now);
    if (what === "renew") bill(script, plan, { ...state, date: time + secondMs }, step);
  }
}

interface Billed extends Pick<SubscriptionInput, "customer" | "currency" | "items"> {
  readonly id: string;
  readonly date: number;
}

/** An invoice, what pays it a second later, and what goes back. */
function bill(
  script: Script,
  { country }: ChargebeePlan,
  { id: subscription, customer, currency, items, date }: Billed,
  { first, refund }: Step,
): void {
  const of = { customer, currency, subscription };
  const lines = items.map(({ price, amount }) => ({ price, amount: amount ?? 0n }));
  const net = lines.reduce((sum, { amount }) => sum + amount, 0n);
  const tax = net / 6n;
  const part = first === null ? net + tax : ((net + tax) * BigInt(first)) / 100n;
  const id = script.id("cb_inv");
  const payments: { id: string; amount: bigint; at: number }[] = [];
  const invoiceAt = (version: number): JsonObject =>
    invoiceObject({ ...of, id, country, date, tax, lines, payments, version });
  send(script, "invoice_generated", date, { invoice: invoiceAt(date) });
  let time = date;
  for (const amount of [part, net + tax - part]) {
    if (amount === 0n) continue;
    time += secondMs;
    const payment = script.id("cb_txn");
    payments.push({ id: payment, amount, at: time });
    const paid = { ...of, id: payment, amount, date: time, invoices: [{ id, amount }] };
    const transaction = transactionObject({ ...paid, version: time });
    send(script, "payment_succeeded", time, { transaction, invoice: invoiceAt(time) });
  }
  const [whole] = payments;
  if (refund === null || whole === undefined) return;
  const { what, percent } = refund;
  const amount = (whole.amount * BigInt(percent)) / 100n;
  if (amount === 0n) return;
  time = after(time, refund.gap) + secondMs;
  const back = {
    customer,
    currency,
    id: script.id("cb_back"),
    of: whole.id,
    amount,
    date: time,
    type: what === "reversal" ? ("payment_reversal" as const) : ("refund" as const),
    method: what === "chargeback" ? "chargeback" : "card",
  };
  if (what !== "failed") {
    send(script, "payment_refunded", time, { transaction: transactionObject(back) });
  }
  if (what !== "failed" && what !== "failing") return;
  time += secondMs;
  const failed = transactionObject({ ...back, status: "failure", version: time });
  send(script, "transaction_updated", time, { transaction: failed });
}

function send(script: Script, type: string, at: number, content: JsonObject): void {
  script.send("chargebee", at, "ev_model", (id) => chargebeeEvent({ id, type, at, content }));
}
