/**
 * The model's own reading of Google Play: a notification together with what Google answered about
 * it, which lies in the body; from docs/providers and `definitions.md`, Providers.
 */
import { exponentOf, type BareFact, type Phase } from "../facts.js";
import { type Fraction, fraction, plus, rounded, tenTo, times } from "../fraction.js";
import { at, list, must, number, text, timeIn } from "./json.js";
import { perMonth } from "./read-apple.js";
import { monthsFactor } from "./read-subscription.js";

export function readGoogle(body: unknown): readonly BareFact[] {
  const reported = dataOf(body);
  const voided = at(reported, "voidedPurchaseNotification");
  const type = number(reported, "subscriptionNotification", "notificationType");
  const isSubscription = type !== null || number(voided, "productType") === 1;
  const token = tokenOf(body);
  const purchase = purchaseOf(body, token);
  const replaced = replacedBy(body, token);
  const account = isSubscription ? (replaced.at(-1) ?? token) : token;
  const country = text(purchase, "regionCode");
  const orders = ordersIn(body);
  // Of what Google no longer answers for, nobody knows whose it was.
  const buyer = { account: purchase === undefined ? null : account, region: country };
  const money = orders.flatMap((order) => readOrder(order, buyer));
  if (!isSubscription) return money;
  const change = (subscription: string, phase: Phase, time: number, items: Items = []): Change => ({
    kind: "change",
    subscription,
    account,
    phase,
    country,
    currency: items.length === 0 ? "" : must(currencyIn(orders), "a currency"),
    steps: [{ at: time, items }],
  });
  const start = timeIn(purchase, "startTime");
  const changes = orders.map((order, index) => {
    const time = index === 0 ? start : timeIn(periodOf(order), "servicePeriodStartTime");
    return change(token, index === 0 ? "started" : "changed", time, itemsOf(body, order));
  });
  if (type === 10) changes.push(change(token, "changed", googleReportedAt(body)));
  const isOver = text(purchase, "subscriptionState") === "SUBSCRIPTION_STATE_EXPIRED";
  const isReplaced = at(purchase, "canceledStateContext", "replacementCancellation") !== undefined;
  if (isOver && !isReplaced) {
    changes.push(change(token, "ended", timeIn(at(purchase, "lineItems", 0), "expiryTime")));
  }
  // Of those further back no notification may have come.
  const ends = replaced.map((each) => change(each, "ended", start));
  return [...changes, ...ends, ...money];
}

/** Of the purchase a notification is about. */
export function tokenOf(body: unknown): string {
  const reported = dataOf(body);
  const token =
    text(reported, "subscriptionNotification", "purchaseToken") ??
    text(reported, "oneTimeProductNotification", "purchaseToken") ??
    text(reported, "voidedPurchaseNotification", "purchaseToken");
  return must(token, "a token");
}

/** `testPurchase` is there for a test only. */
export function isLiveGoogle(body: unknown): boolean {
  const answers = Object.values(Object(at(body, "answers")));
  return answers.every(
    (answer) =>
      at(answer, "testPurchase") === undefined && at(answer, "testPurchaseContext") === undefined,
  );
}

export function googleReportedAt(body: unknown): number {
  return Number(must(text(dataOf(body), "eventTimeMillis"), "an event time"));
}

interface Buyer {
  readonly account: string | null;
  readonly region: string | null;
}

type Change = Extract<BareFact, { kind: "change" }>;
type Items = Change["steps"][number]["items"];

function dataOf(body: unknown): unknown {
  const data = must(text(body, "message", "data"), "data");
  const value: unknown = JSON.parse(Buffer.from(data, "base64").toString());
  return value;
}

function purchaseOf(body: unknown, token: string): unknown {
  const answers = Object.entries(Object(at(body, "answers")));
  return answers.find(([path]) => path.endsWith(`/tokens/${token}`))?.[1];
}

/** Backwards, to the first purchase of the chain. */
function replacedBy(body: unknown, token: string): string[] {
  const before = text(purchaseOf(body, token), "linkedPurchaseToken");
  return before === null ? [] : [before, ...replacedBy(body, before)];
}

/** In the order in which they were made. */
function ordersIn(body: unknown): unknown[] {
  return Object.values(Object(at(body, "answers")))
    .flatMap((answer) => [answer, ...list(answer, "orders")])
    .filter((answer) => text(answer, "createTime") !== null)
    .sort((a, b) => timeIn(a, "createTime") - timeIn(b, "createTime"));
}

function readOrder(order: unknown, { account, region }: Buyer): BareFact[] {
  const amount = minorOf(at(order, "total"));
  if (amount === 0n) return [];
  const payment = must(text(order, "orderId"), "an order id");
  const currency = must(text(order, "total", "currencyCode"), "a currency");
  const tax = minorOf(at(order, "tax"));
  const facts: BareFact[] = [
    {
      kind: "sale",
      payment,
      at: timeIn(order, "createTime"),
      amount,
      currency,
      account,
      country: text(order, "buyerAddress", "buyerCountry") ?? region,
      type: at(periodOf(order)) === undefined ? "one_time" : "subscription",
      tax,
      lines: [{ sku: skuOf(order), weight: amount - tax }],
    },
  ];
  const history = at(order, "orderHistory");
  let left = amount;
  for (const part of list(history, "partialRefundEvents")) {
    const returned = minorOf(at(part, "refundDetails", "total"));
    left -= returned;
    const refund = `${payment} in part at ${text(part, "createTime")}`;
    const reported = refundOf(refund, payment, timeIn(part, "processTime"), returned, currency);
    facts.push({ ...reported, tax: minorOf(at(part, "refundDetails", "tax")) });
  }
  const whole = at(history, "refundEvent");
  if (whole === undefined) return facts;
  const time = timeIn(whole, "eventTime");
  if (text(whole, "refundReason") !== "CHARGEBACK") {
    return [...facts, refundOf(`${payment} whole`, payment, time, left, currency)];
  }
  return [
    ...facts,
    {
      kind: "dispute",
      dispute: `${payment} charged back`,
      payment,
      amount: left,
      currency,
      withdrawnAt: time,
      returnedAt: null,
      certainty: 2,
    },
  ];
}

function refundOf(refund: string, payment: string, time: number, amount: bigint, currency: string) {
  const nothing = { failedAt: null, sku: null, country: null };
  return { kind: "refund" as const, refund, payment, at: time, amount, currency, ...nothing };
}

/** Worth the listing price of its order, spread over the period; nothing in a free trial. */
function itemsOf(body: unknown, order: unknown): Items {
  const details = periodOf(order);
  if (at(details, "offerPhaseDetails", "freeTrialDetails") !== undefined) return [];
  const prorated = text(
    details,
    "offerPhaseDetails",
    "prorationPeriodDetails",
    "originalOfferPhase",
  );
  if (prorated === "FREE_TRIAL") return [];
  const price = exactMinor(at(order, "lineItems", 0, "listingPrice"));
  const isProration = at(details, "offerPhaseDetails", "prorationPeriodDetails") !== undefined;
  const factor = isProration
    ? factorOfPlan(body, skuOf(order))
    : perMonth(timeIn(details, "servicePeriodStartTime"), timeIn(details, "servicePeriodEndTime"));
  return [{ item: skuOf(order), sku: skuOf(order), monthly: times(price, factor) }];
}

function factorOfPlan(body: unknown, product: string): Fraction {
  const answers = Object.entries(Object(at(body, "answers")));
  const plan = answers.find(([path]) => path.endsWith(`/subscriptions/${product}`))?.[1];
  const duration = text(plan, "basePlans", 0, "autoRenewingBasePlanType", "billingPeriodDuration");
  const factors: Readonly<Record<string, Fraction>> = {
    P1W: monthsFactor("week", 1),
    P1M: monthsFactor("month", 1),
    P3M: monthsFactor("month", 3),
    P1Y: monthsFactor("month", 12),
  };
  return must(factors[duration ?? ""], `the period ${duration}`);
}

function periodOf(order: unknown): unknown {
  return at(order, "lineItems", 0, "subscriptionDetails");
}

function skuOf(order: unknown): string {
  return must(text(order, "lineItems", 0, "productId"), "a product");
}

function currencyIn(orders: readonly unknown[]): string | null {
  return text(orders[0], "total", "currencyCode");
}

function minorOf(money: unknown): bigint {
  return rounded(exactMinor(money));
}

/** `units` and `nanos` may both be missing for 0. */
function exactMinor(money: unknown): Fraction {
  const currency = must(text(money, "currencyCode"), "a currency");
  const units = fraction(BigInt(text(money, "units") ?? "0"));
  const nanos = times(fraction(BigInt(number(money, "nanos") ?? 0)), tenTo(-9));
  return times(plus(units, nanos), tenTo(exponentOf(currency)));
}
