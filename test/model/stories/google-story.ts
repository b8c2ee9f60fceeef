/**
 * Random histories of Google Play customers. Beside each notification lies, in its body, what
 * Google would have answered about it when it was asked; later ones have other answers.
 */
import * as fc from "fast-check";
import {
  type JsonObject,
  oneTimeProductNotification,
  orderAnswer,
  type OrderInput,
  productPurchase,
  type PurchaseInput,
  pushBody,
  subscriptionNotification,
  subscriptionProduct,
  subscriptionPurchase,
  voidedPurchaseNotification,
} from "../../payloads/google.js";
import {
  orderPath,
  ordersPath,
  productPath,
  subscriptionPath,
  subscriptionProductPath,
} from "../../../providers/google/paths.js";
import { tokenOf } from "../readers/read-google.js";
import {
  after,
  amounts,
  dayMs,
  type Drawn,
  gaps,
  momentBefore,
  pastCurrencies,
  periodEnd,
  secondMs,
  type Script,
  seldom,
  type Sent,
  starts,
} from "./story.js";

const googlePackage = "com.example.model";

/** Their own names: products of other providers are called by these words, too. */
const products = fc.constantFrom("play_alpha", "play_beta", "play_gamma");

const refunds = fc.record({
  gap: gaps,
  kind: fc.constantFrom("whole", "part", "part, then whole", "chargeback"),
});
type Refund = Drawn<typeof refunds>;

const whats = fc.constantFrom(
  ...(["renew", "renew", "renew", "price", "upgrade", "refund", "grace", "hold"] as const),
  ...(["pause", "cancel", "revoke", "again", "again", "downgrade", "extend", "restart"] as const),
);
const steps = fc.record({
  what: whats,
  gap: gaps,
  price: amounts,
  product: products,
  refund: refunds,
});
type Step = Drawn<typeof steps>;

const durations = { week: "P1W", month: "P1M", quarter: "P3M", year: "P1Y" } as const;

export const googlePlans = fc.record({
  start: starts,
  currency: pastCurrencies,
  country: fc.constantFrom("DE", "US", "JP"),
  isTest: fc.nat(9).map((drawn) => drawn === 0),
  product: products,
  price: amounts,
  period: fc.constantFrom("month", "month", "quarter", "year", "week"),
  begins: fc.constantFrom("base", "base", "freeTrial", "introductoryPrice"),
  steps: fc.array(steps, { maxLength: 8, size: "large" }),
  charge: seldom(fc.record({ price: amounts, product: products, refund: seldom(refunds) })),
  /** How many notifications later Google is asked, again and again: after an outage, say. */
  asked: fc.array(fc.constantFrom(0, 0, 1, 3), { minLength: 1, maxLength: 5 }),
});
export type GooglePlan = Drawn<typeof googlePlans>;

type Phase = NonNullable<OrderInput["lines"][number]["period"]>["phase"];

/** A purchase as it stands, with its orders. */
interface Standing {
  readonly token: string;
  readonly base: string;
  readonly replaces: string | null;
  readonly startAt: number;
  product: string;
  price: bigint;
  state: PurchaseInput["state"];
  expiresAt: number;
  isReplaced: boolean;
  orders: OrderInput[];
}

/** The history of one customer. */
interface Story {
  readonly script: Script;
  readonly plan: GooglePlan;
  /** All so far, by token. */
  readonly purchases: Map<string, Standing>;
}

export function emitGoogle(script: Script, plan: GooglePlan): void {
  const reported = script.sent.length;
  notifyInTime(script, plan);
  const own = script.sent.splice(reported);
  script.sent.push(...own.map((event, index) => askedLate(event, own.slice(index), plan, index)));
}

/** With what was answered about a later notification of the same purchase. */
function askedLate(event: Sent, later: readonly Sent[], { asked }: GooglePlan, index: number) {
  const token = tokenOf(event.body);
  const same = later.filter(({ body }) => tokenOf(body) === token);
  const place = Math.min(asked[index % asked.length] ?? 0, same.length - 1);
  const answers = same[place]?.body["answers"] ?? {};
  return { ...event, body: { ...event.body, answers } };
}

function notifyInTime(script: Script, plan: GooglePlan): void {
  const start = momentBefore(script.end, plan.start);
  if (plan.charge !== null) emitCharge(script, plan, start, plan.charge);
  const story: Story = { script, plan, purchases: new Map() };
  let standing = purchase(story, start, plan.product, plan.price, null);
  const trialEnd = plan.begins === "freeTrial" ? start + 7 * dayMs : null;
  charge(plan, standing, start, trialEnd ?? periodEnd(start, plan.period), plan.begins);
  report(story, standing, 4, start + 2 * secondMs);
  for (const step of plan.steps) {
    if ((standing.state === "EXPIRED") !== (step.what === "again")) continue;
    const next = takeStep(story, standing, step);
    if (next === null) return;
    standing = next;
  }
}

/** @returns the purchase that goes on; null when the next moment lies after the end */
function takeStep(story: Story, standing: Standing, step: Step): Standing | null {
  const { script, plan } = story;
  const end = standing.expiresAt;
  const last = standing.orders.at(-1);
  const begun = last?.createdAt ?? standing.startAt;
  const middle = Math.min(after(begun, step.gap) + secondMs, end - secondMs);
  const say = (type: number, time: number) => report(story, standing, type, time);
  const renewAt = (time: number, type: number) => {
    // Google charges a renewal some hours before its period begins.
    const early = time - (step.gap.seconds % 40_000) * secondMs;
    const chargedAt = type === 2 ? Math.max(begun + secondMs, early) : time + secondMs;
    if (Math.max(time, chargedAt) + 2 * secondMs > script.end) return null;
    charge(plan, standing, time, periodEnd(time, plan.period), "base", chargedAt);
    standing.state = "ACTIVE";
    say(type, chargedAt + secondMs);
    return standing;
  };
  const wait = (state: Standing["state"], type: number) => {
    if (end > script.end) return null;
    standing.state = state;
    say(type, end + 5 * secondMs);
    return renewAt(after(end, step.gap) + 2 * dayMs, 1);
  };
  switch (step.what) {
    case "renew":
      return renewAt(end, 2);
    case "price":
      standing.price = step.price;
      return renewAt(end, 2);
    case "downgrade":
      // Another plan of the same purchase, from its next renewal on.
      Object.assign(standing, { product: step.product, price: step.price });
      return renewAt(end, 2);
    case "extend":
      // The developer gives away some days, reported as "deferred".
      standing.expiresAt = after(end, { days: 1 + (step.gap.days % 9), seconds: 0 });
      say(9, middle);
      return standing;
    case "restart":
      standing.state = "CANCELED";
      say(3, middle);
      standing.state = "ACTIVE";
      say(7, middle + secondMs);
      return standing;
    case "grace":
      return wait("IN_GRACE_PERIOD", 6);
    case "hold":
      return wait("ON_HOLD", 5);
    case "pause":
      return wait("PAUSED", 10);
    case "cancel":
      if (end > script.end) return null;
      standing.state = "CANCELED";
      say(3, middle);
      standing.state = "EXPIRED";
      say(13, end + 5 * secondMs);
      return standing;
    case "upgrade": {
      if (middle + 5 * secondMs > script.end) return null;
      const { token } = standing;
      const next = purchase(story, middle, step.product, step.price, token);
      const isTrial = last?.lines.some(({ period }) => isFree(period)) === true;
      charge(plan, next, middle, end, "prorationPeriod", middle, step.price / 2n, isTrial);
      Object.assign(standing, { state: "EXPIRED", isReplaced: true, expiresAt: middle - 400 });
      report(story, next, 4, middle + 2 * secondMs);
      say(13, middle + 3 * secondMs);
      return next;
    }
    case "again": {
      const time = after(end, step.gap) + dayMs;
      if (time + 2 * secondMs > script.end) return null;
      const next = purchase(story, time, step.product, step.price, null);
      charge(plan, next, time, periodEnd(time, plan.period), "base");
      report(story, next, 4, time + 2 * secondMs);
      return next;
    }
    case "refund":
    case "revoke":
    default: {
      if (last === undefined || last.refund || last.partialRefunds) return standing;
      const time = step.what === "revoke" ? middle : after(begun, step.refund.gap) + secondMs;
      if (time + 5 * secondMs > script.end) return null;
      const kind = step.what === "revoke" ? "whole" : step.refund.kind;
      for (const refunded of refundsOf(last, kind, time)) {
        standing.orders[standing.orders.length - 1] = refunded;
        const reported = (refunded.refund?.at ?? time) + 2 * secondMs;
        emitVoided(script, standing.token, refunded, answersOf(story, standing), reported);
      }
      if (step.what === "refund") return standing;
      Object.assign(standing, { state: "EXPIRED", expiresAt: time });
      say(12, time + secondMs);
      return standing;
    }
  }
}

function purchase(
  { script, plan, purchases }: Story,
  startAt: number,
  product: string,
  price: bigint,
  replaces: string | null,
): Standing {
  const token = script.id("token");
  const standing: Standing = {
    token,
    base: `GPA.${script.id("order")}`,
    replaces,
    startAt,
    product,
    price,
    state: "ACTIVE",
    expiresAt: periodEnd(startAt, plan.period),
    isReplaced: false,
    orders: [],
  };
  purchases.set(token, standing);
  return standing;
}

/** One more order, which pays for the period from `from` to `until`. */
function charge(
  plan: GooglePlan,
  standing: Standing,
  from: number,
  until: number,
  phase: Phase,
  createdAt = from,
  paid = standing.price,
  isTrial = false,
): void {
  const { base, orders, product, price, token } = standing;
  const id = orders.length === 0 ? base : `${base}..${orders.length - 1}`;
  const period = { basePlan: plan.period, from, until, phase, isTrial };
  const total = isFree(period) ? 0n : paid;
  const line = { product, title: product, listingPrice: price, total, tax: total / 6n, period };
  const { currency, country } = plan;
  orders.push({ id, token, createdAt, currency, country, lines: [line] });
  standing.expiresAt = until;
}

function isFree(period: OrderInput["lines"][number]["period"]): boolean {
  return period?.phase === "freeTrial" || period?.isTrial === true;
}

/** The order as it stands after each refund. */
function refundsOf(order: OrderInput, kind: Refund["kind"], time: number): OrderInput[] {
  const total = order.lines.reduce((sum, line) => sum + line.total, 0n);
  const dates = { createdAt: time - secondMs, processedAt: time };
  // More of it than there is in a third of the order.
  const partialRefunds = [{ ...dates, amount: total / 3n, tax: total / 9n }];
  const part: OrderInput = { ...order, state: "PARTIALLY_REFUNDED", partialRefunds };
  if (total < 3n) return [];
  switch (kind) {
    case "part":
      return [part];
    case "part, then whole":
      return [part, { ...part, state: "REFUNDED", refund: { at: time + secondMs } }];
    case "whole":
    case "chargeback":
    default: {
      const refund = { at: time, isChargeback: kind === "chargeback" };
      return [{ ...order, state: "REFUNDED", refund }];
    }
  }
}

type Charge = NonNullable<GooglePlan["charge"]>;

function emitCharge(script: Script, plan: GooglePlan, time: number, bought: Charge): void {
  const { price, product, refund } = bought;
  const token = script.id("token");
  const id = `GPA.${script.id("order")}`;
  const { currency, country, isTest } = plan;
  const line = { product, title: product, listingPrice: price, total: price, tax: price / 6n };
  const order: OrderInput = { id, token, createdAt: time, currency, country, lines: [line] };
  const answersWith = (standing: OrderInput): JsonObject => ({
    [productPath(googlePackage, token)]: productPurchase({
      product,
      order: id,
      country,
      at: time,
      isTest,
    }),
    [orderPath(googlePackage, id)]: orderAnswer(standing),
  });
  const notification = oneTimeProductNotification(1, token, product);
  send(script, time + secondMs, notification, answersWith(order));
  if (refund === null) return;
  const refundedAt = after(time, refund.gap) + 2 * secondMs;
  for (const refunded of refundsOf(order, refund.kind, refundedAt)) {
    const reported = (refunded.refund?.at ?? refundedAt) + secondMs;
    emitVoided(script, token, refunded, answersWith(refunded), reported, false);
  }
}

function report(story: Story, standing: Standing, type: number, time: number): void {
  const notification = subscriptionNotification(type, standing.token, standing.product);
  send(story.script, time, notification, answersOf(story, standing));
}

function emitVoided(
  script: Script,
  purchaseToken: string,
  order: OrderInput,
  answers: JsonObject,
  time: number,
  isSubscription = true,
): void {
  const isPartial = order.state === "PARTIALLY_REFUNDED";
  const voided = { purchaseToken, orderId: order.id, isSubscription, isPartial };
  send(script, time, voidedPurchaseNotification(voided), answers);
}

/** What Google answers about a purchase now: itself, those it replaced, orders, products. */
function answersOf({ plan, purchases }: Story, standing: Standing): JsonObject {
  const answers: JsonObject = {};
  for (let each: Standing | undefined = standing; each !== undefined;) {
    answers[subscriptionPath(googlePackage, each.token)] = purchaseAnswer(plan, each);
    each = each.replaces === null ? undefined : purchases.get(each.replaces);
  }
  const orders = standing.orders.map(orderAnswer);
  const ids = standing.orders.map(({ id }) => id);
  const [only] = orders;
  if (only !== undefined && orders.length === 1) {
    answers[orderPath(googlePackage, standing.base)] = only;
  } else answers[ordersPath(googlePackage, ids)] = { orders };
  const basePlans = { [plan.period]: durations[plan.period] };
  // Of those it had before, too: their orders are asked for again.
  for (const { lines } of standing.orders) {
    for (const { product } of lines) {
      const named = { packageName: googlePackage, product, title: product };
      const catalogue = { ...subscriptionProduct({ ...named, basePlans }), listings: [] };
      answers[subscriptionProductPath(googlePackage, product)] = catalogue;
    }
  }
  return answers;
}

function purchaseAnswer(plan: GooglePlan, standing: Standing): JsonObject {
  const { state, startAt, replaces, isReplaced, product, expiresAt, orders, base } = standing;
  const latestOrder = orders.at(-1)?.id ?? base;
  return subscriptionPurchase({
    state,
    startAt,
    country: plan.country,
    isReplaced,
    isTest: plan.isTest,
    ...(replaces === null ? {} : { replaces }),
    items: [{ product, basePlan: plan.period, expiresAt, latestOrder }],
  });
}

function send(script: Script, at: number, notification: JsonObject, answers: JsonObject): void {
  script.send("google", at, "message", (messageId) => {
    const push = pushBody({ messageId, packageName: googlePackage, at, notification });
    return { ...push, answers };
  });
}
