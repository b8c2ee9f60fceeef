/**
 * Makes what Google sends and answers: pushes of developer notifications, and the purchases,
 * orders and products the Play Developer API has about them. `sign` in index.ts makes the header
 * that goes with a push, paths.ts names what an answer answers.
 *
 * Times are ms since 1970, amounts minor units of ISO 4217 (`bigint`).
 */
import { knownExponentOf, powerOfTen } from "../../schemas/money/money.js";

import { type JsonObject, sent, sum } from "../../ops/payloads/json.js";

export { type JsonObject, jsonBody as pushBytes } from "../../ops/payloads/json.js";

export interface PushInput {
  /** The identity of all redeliveries. */
  readonly messageId: string;
  readonly packageName: string;
  /** When it happened at Play; Pub/Sub publishes it a moment later. */
  readonly at: number;
  /** One of the notifications below. */
  readonly notification: JsonObject;
}

const publishedAfterMs = 800;
const subscriptionName = "projects/example-project/subscriptions/play-notifications";

export function pushBody({ messageId, packageName, at, notification }: PushInput): JsonObject {
  const data = { version: "1.0", packageName, eventTimeMillis: String(at), ...notification };
  return pushOf(messageId, at, Buffer.from(JSON.stringify(data)).toString("base64"));
}

/** @param data base64 of the published message */
export function pushOf(messageId: string, at: number, data: string): JsonObject {
  const publishTime = timeText(at + publishedAfterMs);
  return {
    message: { data, messageId, message_id: messageId, publishTime, publish_time: publishTime },
    subscription: subscriptionName,
  };
}

export function subscriptionNotification(
  notificationType: number,
  purchaseToken: string,
  subscriptionId?: string,
): JsonObject {
  const what = { version: "1.0", notificationType, purchaseToken, subscriptionId };
  return sent({ subscriptionNotification: what });
}

export function oneTimeProductNotification(
  notificationType: number,
  purchaseToken: string,
  sku: string,
): JsonObject {
  return { oneTimeProductNotification: { version: "1.0", notificationType, purchaseToken, sku } };
}

export function voidedPurchaseNotification(input: {
  readonly purchaseToken: string;
  readonly orderId: string;
  readonly isSubscription: boolean;
  readonly isPartial?: boolean;
}): JsonObject {
  const { purchaseToken, orderId, isSubscription, isPartial = false } = input;
  const kinds = { productType: isSubscription ? 1 : 2, refundType: isPartial ? 2 : 1 };
  return { voidedPurchaseNotification: { purchaseToken, orderId, ...kinds } };
}

export const testNotification: JsonObject = { testNotification: { version: "1.0" } };

export interface PurchaseInput {
  /** Without `SUBSCRIPTION_STATE_`. */
  readonly state: "ACTIVE" | "CANCELED" | "IN_GRACE_PERIOD" | "ON_HOLD" | "PAUSED" | "EXPIRED";
  readonly startAt: number;
  readonly country: string;
  readonly items: readonly PurchaseItem[];
  /** The token of the purchase this one replaced. */
  readonly replaces?: string;
  /** It was replaced itself. */
  readonly isReplaced?: boolean;
  readonly isTest?: boolean;
}

interface PurchaseItem {
  readonly product: string;
  readonly basePlan: string;
  readonly expiresAt: number;
  /** Null: none was charged yet, as for a plan that begins later. */
  readonly latestOrder: string | null;
}

/** `purchases.subscriptionsv2.get` */
export function subscriptionPurchase(input: PurchaseInput): JsonObject {
  const { state, startAt, items } = input;
  const isOver = state === "CANCELED" || state === "EXPIRED";
  const cancellation = input.isReplaced
    ? { replacementCancellation: {} }
    : { userInitiatedCancellation: { cancelTime: timeText(startAt) } };
  return sent({
    kind: "androidpublisher#subscriptionPurchaseV2",
    startTime: timeText(startAt),
    regionCode: input.country,
    subscriptionState: `SUBSCRIPTION_STATE_${state}`,
    latestOrderId: items[0]?.latestOrder ?? null,
    linkedPurchaseToken: input.replaces,
    canceledStateContext: isOver ? cancellation : undefined,
    testPurchase: input.isTest ? {} : undefined,
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
    lineItems: items.map(({ product, basePlan, expiresAt, latestOrder }) => ({
      productId: product,
      expiryTime: timeText(expiresAt),
      autoRenewingPlan: { autoRenewEnabled: !isOver },
      offerDetails: { basePlanId: basePlan },
      latestSuccessfulOrderId: latestOrder ?? undefined,
    })),
  });
}

export interface OrderInput {
  /** GPA.…, of a renewal with `..0`, `..1` behind it */
  readonly id: string;
  readonly token: string;
  readonly createdAt: number;
  readonly currency: string;
  readonly country?: string;
  readonly state?: "PENDING" | "PROCESSED" | "CANCELED" | "PARTIALLY_REFUNDED" | "REFUNDED";
  readonly lines: readonly OrderLineInput[];
  /** What the merchant earns of it. */
  readonly revenue?: bigint;
  readonly partialRefunds?: readonly PartialRefundInput[];
  readonly refund?: { readonly at: number; readonly isChargeback?: boolean };
}

interface OrderLineInput {
  readonly product: string;
  readonly title: string;
  /** Before Play's own discounts; with tax inside or without, by region. */
  readonly listingPrice: bigint;
  /** What was paid, tax included. */
  readonly total: bigint;
  readonly tax: bigint;
  /** Absent for a one-time product. */
  readonly period?: {
    readonly basePlan: string;
    readonly from: number;
    readonly until: number;
    readonly phase: "base" | "freeTrial" | "introductoryPrice" | "prorationPeriod";
    /** Of a proration period: the trial of the purchase before goes on in it. */
    readonly isTrial?: boolean;
  };
}

interface PartialRefundInput {
  readonly createdAt: number;
  readonly processedAt: number | null;
  readonly amount: bigint;
  /** Within `amount`; left out: not reported. */
  readonly tax?: bigint;
}

/** `orders.get` */
export function orderAnswer(input: OrderInput): JsonObject {
  const { currency, lines, partialRefunds = [], refund, revenue, state = "PROCESSED" } = input;
  const money = {
    total: moneyOf(sum(lines.map((line) => line.total)), currency),
    tax: moneyOf(sum(lines.map((line) => line.tax)), currency),
  };
  const created = timeText(input.createdAt);
  const history = partialRefunds.map((partial) => partialRefund(partial, currency));
  return sent({
    orderId: input.id,
    purchaseToken: input.token,
    state,
    createTime: created,
    lastEventTime: timeText(refund?.at ?? input.createdAt),
    ...money,
    orderDetails: { taxInclusive: true },
    buyerAddress: { buyerCountry: input.country },
    developerRevenueInBuyerCurrency: revenue === undefined ? undefined : moneyOf(revenue, currency),
    orderHistory: {
      processedEvent: state === "PENDING" ? undefined : { eventTime: created },
      partialRefundEvents: history.length === 0 ? undefined : history,
      refundEvent: refund && {
        eventTime: timeText(refund.at),
        refundReason: refund.isChargeback ? "CHARGEBACK" : "OTHER",
        refundDetails: money,
      },
    },
    lineItems: lines.map((line) => lineOf(line, currency)),
  });
}

function partialRefund(partial: PartialRefundInput, currency: string): JsonObject {
  const { createdAt, processedAt, amount, tax } = partial;
  return sent({
    createTime: timeText(createdAt),
    processTime: processedAt === null ? undefined : timeText(processedAt),
    state: processedAt === null ? "PENDING" : "PROCESSED_SUCCESSFULLY",
    refundDetails: {
      total: moneyOf(amount, currency),
      tax: tax === undefined ? undefined : moneyOf(tax, currency),
    },
  });
}

function lineOf({ period, ...line }: OrderLineInput, currency: string): JsonObject {
  return sent({
    productId: line.product,
    productTitle: line.title,
    listingPrice: moneyOf(line.listingPrice, currency),
    total: moneyOf(line.total, currency),
    tax: moneyOf(line.tax, currency),
    oneTimePurchaseDetails: period === undefined ? { quantity: 1 } : undefined,
    subscriptionDetails: period && {
      basePlanId: period.basePlan,
      offerId: period.phase === "base" ? undefined : `${period.basePlan}-offer`,
      offerPhaseDetails: {
        [`${period.phase}Details`]: period.isTrial ? { originalOfferPhase: "FREE_TRIAL" } : {},
      },
      servicePeriodStartTime: timeText(period.from),
      servicePeriodEndTime: timeText(period.until),
    },
  });
}

/** `purchases.productsv2.getproductpurchasev2` */
export function productPurchase(input: {
  readonly product: string;
  /** Null where nothing was paid. */
  readonly order: string | null;
  readonly country: string;
  readonly at: number;
  readonly isTest?: boolean;
}): JsonObject {
  return sent({
    kind: "androidpublisher#productPurchaseV2",
    purchaseStateContext: { purchaseState: "PURCHASED" },
    testPurchaseContext: input.isTest ? { fopType: "TEST" } : undefined,
    orderId: input.order ?? undefined,
    regionCode: input.country,
    purchaseCompletionTime: timeText(input.at),
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
    productLineItem: [{ productId: input.product, productOfferDetails: { quantity: 1 } }],
  });
}

/** `monetization.subscriptions.get`; periods as ISO 8601 durations by base plan */
export function subscriptionProduct(input: {
  readonly packageName: string;
  readonly product: string;
  readonly title: string;
  readonly basePlans: Readonly<Record<string, string>>;
}): JsonObject {
  return {
    packageName: input.packageName,
    productId: input.product,
    basePlans: Object.entries(input.basePlans).map(([basePlanId, billingPeriodDuration]) => ({
      basePlanId,
      state: "ACTIVE",
      autoRenewingBasePlanType: { billingPeriodDuration, gracePeriodDuration: "P7D" },
    })),
    listings: [{ languageCode: "en-US", title: input.title }],
  };
}

/** `Money`: whole units as text, absent when 0, and billionths of a unit. */
function moneyOf(amountMinor: bigint, currency: string): JsonObject {
  const scale = powerOfTen(knownExponentOf(currency));
  const nanos = ((amountMinor % scale) * powerOfTen(9)) / scale;
  return sent({
    currencyCode: currency,
    units: amountMinor / scale === 0n ? undefined : String(amountMinor / scale),
    nanos: nanos === 0n ? undefined : nanos,
  });
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
