/** Random histories of Paddle customers: subscriptions with all that befalls them, and sales. */
import * as fc from "fast-check";
import {
  addressData,
  type JsonObject,
  paddleEvent,
  priceData,
  productData,
  type SubscriptionInput,
  type SubscriptionItemInput,
  subscriptionData,
} from "../../../ops/payloads/paddle.js";
import {
  type AdjustmentInput,
  adjustmentData,
  type LineInput,
  type TransactionInput,
  transactionData,
} from "../../../ops/payloads/paddle-money.js";
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
const names: Readonly<Record<string, string>> = {
  pro_alpha: "Team plan",
  pro_beta: "Harbor Seats",
  pro_gamma: "Tide Charts",
};
const products = fc.constantFrom(...Object.keys(names));

const refunds = fc.record({
  gap: gaps,
  /** Of what is left of a line, in percent; null: all of the payment. */
  percent: fc.constantFrom(null, 100, 33, 1),
  /** As the rate says, or nothing but tax, or none. */
  taxed: fc.constantFrom("rate", "rate", "only", "none"),
  line: fc.nat(1),
  waits: seldom(gaps),
  outcome: fc.constantFrom("approved", "approved", "approved", "rejected", "reversed"),
});

const chargebacks = fc.record({
  gap: gaps,
  returns: fc.constantFrom("none", "all", "all", "halves"),
  /** Which line's price is charged back; null: all of the payment. */
  line: fc.constantFrom(null, null, 0, 1),
});

const fates = fc.record({
  refunds: fc.oneof(
    { weight: 2, arbitrary: fc.array(refunds, { maxLength: 0 }) },
    { weight: 1, arbitrary: fc.array(refunds, { minLength: 1, maxLength: 2 }) },
  ),
  chargebacks: seldom(fc.array(chargebacks, { minLength: 1, maxLength: 2 })),
  isLost: fc.nat(9).map((drawn) => drawn === 0),
  credit: fc.constantFrom(0n, 0n, 0n, 5n),
});
type Fate = Drawn<typeof fates>;

const whats = fc.constantFrom(
  ...(["renew", "renew", "renew", "quantity", "plan", "add", "drop", "charge"] as const),
  ...(["planCancel", "planPause", "pause", "resume", "pastDue", "recover", "cancel"] as const),
);
const items = fc.record({
  product: products,
  unitAmount: amounts,
  quantity: fc.constantFrom<number>(1, 1, 3),
});
type ItemPlan = Drawn<typeof items>;
const steps = fc.record({ what: whats, gap: gaps, item: items, fate: fates });

export const paddlePlans = fc.record({
  start: starts,
  currency: fc.constantFrom("USD", "EUR", "GBP", "JPY"),
  interval: fc.constantFrom("month", "month", "year", "week"),
  frequency: fc.constantFrom(1, 1, 3),
  trialDays: fc.constantFrom(0, 0, 14),
  /** Whether the trial ends as it was planned, days before that, or days after. */
  trial: fc.constantFrom("as planned", "as planned", "cut short", "extended", "canceled"),
  /** Brought along from another billing system. */
  isImported: fc.nat(9).map((drawn) => drawn === 0),
  items: fc.array(items, { minLength: 1, maxLength: 2 }),
  fate: fates,
  steps: fc.array(steps, { maxLength: 8, size: "large" }),
  oneOff: seldom(fc.record({ item: items, fate: fates })),
  addresses: fc.array(fc.record({ start: starts, country: fc.constantFrom("DE", "US", "JP") }), {
    maxLength: 2,
  }),
});
export type PaddlePlan = Drawn<typeof paddlePlans>;

/** The subscription as it stands; a step edits it and reports it. */
interface Standing {
  readonly id: string;
  readonly customer: string;
  readonly startedAt: number;
  /** As planned. */
  readonly trialEndsAt: number | null;
  readonly paidFrom: number;
  status: SubscriptionInput["status"];
  items: { readonly price: string; readonly plan: ItemPlan }[];
  pausedAt: number | null;
  canceledAt: number | null;
  scheduled: "cancel" | "pause" | null;
}

export function emitPaddle(script: Script, plan: PaddlePlan): void {
  const start = momentBefore(script.end, plan.start);
  const customer = script.id("ctm");
  for (const [order, { start: moved, country }] of plan.addresses.entries()) {
    const type = `address.${order === 0 ? "created" : "updated"}`;
    const id = script.id("add");
    send(script, type, momentBefore(script.end, moved), () =>
      addressData({ id, customer, country }),
    );
  }
  if (plan.oneOff !== null) {
    const { item, fate } = plan.oneOff;
    const lines = [{ price: script.id("pri"), plan: item }];
    pay(script, plan, { customer, at: start, lines, origin: "web", fate });
  }
  const isTrial = plan.trialDays > 0;
  const trialEndsAt = isTrial ? start + plan.trialDays * dayMs : null;
  const paidFrom = (trialEndsAt ?? start) + (isTrial ? daysMoved[plan.trial] * dayMs : 0);
  const standing: Standing = {
    id: script.id("sub"),
    customer,
    startedAt: start,
    trialEndsAt,
    paidFrom,
    status: isTrial ? "trialing" : "active",
    items: plan.items.map((item) => ({ price: script.id("pri"), plan: item })),
    pausedAt: null,
    canceledAt: null,
    scheduled: null,
  };
  const first = { customer, at: paidFrom, lines: standing.items, fate: plan.fate } as const;
  const isNew = !isTrial && !plan.isImported;
  const transaction = isNew
    ? pay(script, plan, { ...first, origin: "web", subscription: null })
    : null;
  const began = isTrial || isNew ? "created" : "imported";
  report(script, plan, standing, began, start + secondMs, transaction);
  if (isTrial) {
    emitTrial(script, plan, standing);
    if (standing.canceledAt !== null) return;
    pay(script, plan, { ...first, origin: "subscription_recurring", subscription: standing.id });
  }
  report(script, plan, standing, "activated", paidFrom + 2 * secondMs);
  let time = paidFrom + 2 * secondMs;
  for (const step of plan.steps) {
    time = after(time, step.gap) + secondMs;
    takeStep(script, plan, standing, step, time);
    if (standing.canceledAt !== null) return;
  }
}

const daysMoved = { "as planned": 0, "cut short": -5, extended: 3, canceled: 0 } as const;

function emitTrial(script: Script, plan: PaddlePlan, standing: Standing): void {
  const { startedAt, paidFrom } = standing;
  report(script, plan, standing, "trialing", startedAt + secondMs);
  report(script, plan, standing, "updated", startedAt + dayMs);
  if (plan.trial === "canceled") {
    const canceledAt = startedAt + 2 * dayMs;
    Object.assign(standing, { status: "canceled", canceledAt });
    report(script, plan, standing, "canceled", canceledAt + secondMs);
    return;
  }
  // Once more after its end, just before it is activated.
  if (plan.trial !== "cut short") report(script, plan, standing, "updated", paidFrom + secondMs);
  standing.status = "active";
}

function takeStep(
  script: Script,
  plan: PaddlePlan,
  standing: Standing,
  { what, item, fate }: Drawn<typeof steps>,
  time: number,
): void {
  const { customer, id: subscription } = standing;
  const isPaused = standing.status === "paused";
  if (isPaused !== (what === "resume") && what !== "cancel") return;
  const say = (type: string) => report(script, plan, standing, type, time);
  const renew = (origin: TransactionInput["origin"], lines = standing.items) =>
    pay(script, plan, { customer, at: time, lines, origin, fate, subscription });
  switch (what) {
    case "renew":
      renew("subscription_recurring");
      return say("updated");
    case "charge":
      renew("subscription_charge", [{ price: script.id("pri"), plan: item }]);
      return;
    case "quantity": {
      const [first, ...rest] = standing.items;
      if (first === undefined) return;
      const changed = { ...first.plan, quantity: item.quantity + 1 };
      standing.items = [{ ...first, plan: changed }, ...rest];
      return say("updated");
    }
    case "plan":
      standing.items = [{ price: script.id("pri"), plan: item }];
      renew("subscription_update");
      return say("updated");
    case "add":
      standing.items = [...standing.items, { price: script.id("pri"), plan: item }].slice(0, 3);
      return say("updated");
    case "drop":
      standing.items = standing.items.slice(0, 1);
      return say("updated");
    case "planCancel":
    case "planPause":
      standing.scheduled = what === "planCancel" ? "cancel" : "pause";
      return say("updated");
    case "pause":
      Object.assign(standing, { status: "paused", pausedAt: time, scheduled: null });
      return report(script, plan, standing, "paused", time + 3 * secondMs);
    case "resume":
      Object.assign(standing, { status: "active", pausedAt: null });
      return say("resumed");
    case "pastDue":
      standing.status = "past_due";
      return say("past_due");
    case "recover":
      standing.status = "active";
      return say("updated");
    case "cancel":
      Object.assign(standing, { status: "canceled", canceledAt: time });
      return report(script, plan, standing, "canceled", time + 3 * secondMs);
  }
}

function report(
  script: Script,
  plan: PaddlePlan,
  standing: Standing,
  type: string,
  time: number,
  transaction: string | null = null,
): void {
  const { id, customer, status, startedAt, trialEndsAt, paidFrom, pausedAt, canceledAt } = standing;
  const isTrial = trialEndsAt !== null;
  send(script, `subscription.${type}`, time, () =>
    subscriptionData({
      id,
      customer,
      currency: plan.currency,
      status,
      startedAt,
      periodStartsAt: status === "trialing" ? startedAt : paidFrom,
      firstBilledAt: status === "trialing" ? null : paidFrom,
      items: standing.items.map((item): SubscriptionItemInput => ({
        price: priceOf(plan, item),
        product: productOf(item.plan.product),
        quantity: item.plan.quantity,
        status: status === "trialing" ? "trialing" : "active",
        ...(isTrial ? { trialEndsAt } : {}),
      })),
      ...(transaction === null ? {} : { transaction }),
      ...(pausedAt === null ? {} : { pausedAt }),
      ...(canceledAt === null ? {} : { canceledAt }),
      ...(standing.scheduled === null
        ? {}
        : { scheduled: { action: standing.scheduled, at: time + dayMs } }),
    }),
  );
}

interface Paying {
  readonly customer: string;
  readonly at: number;
  readonly lines: Standing["items"];
  readonly origin: TransactionInput["origin"];
  readonly subscription?: string | null;
  readonly fate: Fate;
}

/** @returns the transaction's id */
function pay(script: Script, plan: PaddlePlan, paying: Paying): string {
  const { customer, at: paidAt, fate, origin, subscription = null } = paying;
  const id = script.id("txn");
  const lines = paying.lines.map((item): LineInput => ({
    id: script.id("txnitm"),
    price: priceOf(plan, item),
    product: productOf(item.plan.product),
    subtotal: item.plan.unitAmount * BigInt(item.plan.quantity),
    tax: item.plan.unitAmount / 5n,
  }));
  const total = lines.reduce((sum, { subtotal, tax = 0n }) => sum + subtotal + tax, 0n);
  const amount = total - fate.credit;
  const money = { currency: plan.currency, customer, subscription, createdAt: paidAt - secondMs };
  if (!fate.isLost) {
    send(script, "transaction.completed", paidAt + secondMs, () =>
      transactionData({
        ...money,
        id,
        paidAt,
        lines,
        credit: fate.credit,
        ...(origin ? { origin } : {}),
      }),
    );
  }
  const adjust = (type: string, time: number, input: Omit<AdjustmentInput, keyof typeof money>) =>
    send(script, `adjustment.${type}`, time, () => adjustmentData({ ...money, ...input }));
  if (fate.credit > 0n) {
    const credited = { transaction: id, type: "full", total: fate.credit } as const;
    const given = {
      ...credited,
      id: script.id("adj"),
      action: "credit",
      status: "approved",
    } as const;
    adjust("created", paidAt + secondMs, given);
  }
  let time = paidAt + secondMs;
  let left = amount;
  // Without its sale each refund is converted apart: one is enough to see that.
  for (const refund of fate.isLost ? fate.refunds.slice(0, 1) : fate.refunds) {
    time = after(time, refund.gap) + secondMs;
    const line = lines[refund.line % lines.length];
    const part = refund.percent === null ? left : (line?.subtotal ?? 0n) / 2n;
    const back = (part * BigInt(refund.percent ?? 100)) / 100n;
    if (back <= 0n || back > left || line === undefined) continue;
    left -= back;
    const isOnlyTax = refund.percent !== null && refund.taxed === "only";
    const type = refund.percent === null ? "full" : isOnlyTax ? "tax" : "partial";
    const what = { id: script.id("adj"), transaction: id, action: "refund", type } as const;
    const tax = isOnlyTax ? back : refund.taxed === "none" ? 0n : back / 6n;
    const reported = { ...what, items: [{ line: line.id, amount: back, tax }] };
    if (refund.waits !== null) {
      adjust("created", time, { ...reported, status: "pending_approval" });
      time = after(time, refund.waits) + secondMs;
    }
    if (refund.outcome === "rejected") {
      adjust("updated", time, { ...reported, status: "rejected" });
      continue;
    }
    adjust(refund.waits === null ? "created" : "updated", time, {
      ...reported,
      status: "approved",
    });
    // Reported once more, for whatever reason: the first date stays.
    adjust("updated", time + 5 * secondMs, { ...reported, status: "approved" });
    time += 6 * secondMs;
    if (refund.outcome === "reversed") adjust("updated", time, { ...reported, status: "reversed" });
  }
  let open = 0n;
  for (const { gap, returns, line } of fate.isLost ? [] : (fate.chargebacks ?? [])) {
    time = after(time, gap) + secondMs;
    const charged = line === null ? undefined : lines[line % lines.length];
    const isPart = charged !== undefined && charged.subtotal < amount;
    const part = isPart ? charged.subtotal : amount;
    if (open + part > amount) continue;
    const emitPart = (of: bigint): Pick<AdjustmentInput, "type" | "items" | "total" | "tax"> =>
      isPart
        ? { type: "partial", items: [{ line: charged.id, amount: of }] }
        : { type: "full", total: of, tax: of / 6n };
    const what = { transaction: id, status: "approved", ...emitPart(part) } as const;
    const warned = { ...what, id: script.id("adj"), action: "chargeback_warning" } as const;
    adjust("created", time, warned);
    const back = { ...what, id: script.id("adj"), action: "chargeback" } as const;
    adjust("created", time + secondMs, back);
    time += 2 * secondMs;
    if (returns === "none") {
      open += part;
      continue;
    }
    const unwarned = {
      ...what,
      id: script.id("adj"),
      action: "chargeback_warning_reverse",
    } as const;
    adjust("created", time, unwarned);
    adjust("updated", time, { ...back, status: "reversed" });
    const halves = returns === "halves" ? [part / 2n, part - part / 2n] : [part];
    for (const half of halves) {
      const returned = { ...what, ...emitPart(half), action: "chargeback_reverse" } as const;
      adjust("created", time, { ...returned, id: script.id("adj") });
      time += secondMs;
    }
  }
  return id;
}

function priceOf(plan: PaddlePlan, item: Standing["items"][number]): JsonObject {
  return priceData({
    id: item.price,
    product: item.plan.product,
    unitAmount: item.plan.unitAmount,
    currency: plan.currency,
    interval: plan.interval,
    frequency: plan.frequency,
  });
}

function productOf(id: string): JsonObject {
  return productData({ id, name: names[id] ?? id, createdAt: Date.UTC(2024, 0, 1) });
}

function send(script: Script, type: string, at: number, data: () => JsonObject): void {
  script.send("paddle", at, "evt", (id) => paddleEvent({ id, type, at, data: data() }));
}
