/** From a notification and what Google answers about it to facts. */
import type { FactBody } from "../../schemas/records/records.js";
import { ignored, isUnreported, malformed, rejected, type Unreported } from "../outcomes.js";
import {
  type Decoded,
  type KeptObject,
  type Known,
  type NeededTypes,
  nothingKnown,
} from "../provider.js";
import { nameIn } from "./catalogue.js";
import { chainOf, keptChain, keptId } from "./chain.js";
import { type PurchaseNotification, purchaseNotification, readPush } from "./notification.js";
import { ordersIn } from "./order-answers.js";
import { type Order, readOrder, showsRefund } from "./orders.js";
import { productPath, subscriptionPath } from "./paths.js";
import { pricedPeriods } from "./periods.js";
import {
  keptOrders,
  lacksOrder,
  latestOrdersOf,
  orderIdsOf,
  ordersId,
  productOrderIds,
  productPurchaseShape,
  purchaseShape,
} from "./purchase.js";
import { cataloguePath } from "./questions.js";
import { unavailable } from "./reading.js";
import { standingsOf } from "./subscriptions.js";
import { readPurchase } from "./subscriptions.js";

/** Any of a purchase makes all of it be read, so none proves that another should have come. */
export const neededTypes: readonly NeededTypes[] = [
  { for: "payments", types: ["SUBSCRIPTION_PURCHASED", "SUBSCRIPTION_RENEWED"] },
  { for: "renewals", types: ["SUBSCRIPTION_RENEWED"] },
  { for: "one_time", types: ["ONE_TIME_PRODUCT_PURCHASED"] },
  { for: "ends", types: ["SUBSCRIPTION_EXPIRED", "SUBSCRIPTION_REVOKED"] },
  { for: "refunds", types: ["VOIDED_PURCHASE"] },
];

export function decode(body: unknown, known: Known = nothingKnown): Decoded {
  const notification = readPush(body)?.notification;
  if (notification === undefined) return rejected("malformed", "no push of Cloud Pub/Sub");
  if ("unreadable" in notification) return rejected("malformed", notification.unreadable);
  if (notification.kind === "other") {
    return ignored(`${notification.type} reports no money and no MRR`);
  }
  const reported =
    notification.kind === "subscription"
      ? readSubscription(notification, known)
      : readProduct(notification, known);
  if (isUnreported(reported)) return reported;
  const { facts, isTest } = reported;
  if (facts.length === 0) return ignored("nothing was paid");
  return {
    outcome: "facts",
    facts: facts.map((fact) => ({ happenedAt: notification.at, body: fact })),
    ...(isTest === null ? {} : { sandbox: isTest }),
  };
}

/**
 * The account of the purchase's chain, for when Google no longer answers for its beginning, and the
 * orders it names, for when it names others.
 */
export function keepsAnswered(body: unknown, known: Known): KeptObject[] {
  const purchase = subscriptionIn(body);
  if (purchase === null) return [];
  const { packageName, token } = purchase;
  const answer = known.answers.get(subscriptionPath(packageName, token));
  const reported = purchaseShape.safeParse(answer);
  if (!reported.success) return [];
  const chain = keptChain(chainOf(packageName, token, known));
  return [
    ...chain.filter(({ id }) => !known.kept.has(id)),
    ...keptOrders(token, reported.data, known),
  ];
}

export function needs(body: unknown, known: Known = nothingKnown): string[] {
  const purchase = subscriptionIn(body);
  if (purchase === null) return [];
  const { packageName, token } = purchase;
  return [...chainOf(packageName, token, known).tokens.map(keptId), ordersId(token)];
}

function subscriptionIn(body: unknown): PurchaseNotification | null {
  const notification = purchaseNotification(body);
  return notification?.kind === "subscription" ? notification : null;
}

interface Reported {
  readonly facts: readonly FactBody[];
  /** Null where Google does not report. */
  readonly isTest: boolean | null;
}

function readSubscription(notification: PurchaseNotification, known: Known): Reported | Unreported {
  const { packageName, token } = notification;
  const answer = known.answers.get(subscriptionPath(packageName, token));
  if (answer === undefined) return unavailable("the purchase");
  // A chargeback may come after Google has forgotten the purchase; its order it remembers.
  if (answer === null) return readOrdersOf(notification, known);
  const purchase = purchaseShape.safeParse(answer);
  if (!purchase.success) return malformed(purchase.error, "purchase");
  const { account, before } = chainOf(packageName, token, known);
  if (account === null) return unavailable("the purchase it replaced");

  const ids = orderIdsOf(purchase.data, notification, known);
  if ("outcome" in ids) return ids;
  if (ids.length === 0 && lacksOrder(purchase.data)) {
    return rejected("order_unknown", "Google names no order of a purchase that counts");
  }
  const orders = confirmedOrders(notification, ids, latestOrdersOf(purchase.data), known);
  if (isUnreported(orders)) return orders;
  const periods = pricedPeriods(orders, (line) =>
    known.answers.get(cataloguePath(packageName, line)),
  );
  if (isUnreported(periods)) return periods;
  const subject = { notification, account, before, readAt: known.receivedAt ?? notification.at };
  const changes = readPurchase(subject, purchase.data, periods);
  if (isUnreported(changes)) return changes;
  const buyer = { account, country: purchase.data.regionCode };
  return {
    facts: [
      ...changes,
      ...orders.flatMap((one) => readOrder(one, buyer)),
      ...namesIn(packageName, orders, known),
      ...(changes.length === 0 ? [] : standingsOf(subject, purchase.data, periods)),
    ],
    isTest: purchase.data.testPurchase !== undefined,
  };
}

function readProduct(notification: PurchaseNotification, known: Known): Reported | Unreported {
  const { packageName, token, order } = notification;
  const answer = known.answers.get(productPath(packageName, token));
  if (answer === undefined) return unavailable("the purchase");
  if (answer === null) return readOrdersOf(notification, known);
  const purchase = productPurchaseShape.safeParse(answer);
  if (!purchase.success) return malformed(purchase.error, "purchase");
  const { regionCode, testPurchaseContext: test } = purchase.data;
  const ids = productOrderIds(purchase.data, order);
  if (ids.length === 0) return ignored("a purchase without an order: nothing was paid");
  const orders = confirmedOrders(notification, ids, ids, known);
  if (isUnreported(orders)) return orders;
  const buyer = { account: token, country: regionCode };
  return {
    facts: [
      ...orders.flatMap((one) => readOrder(one, buyer)),
      ...namesIn(packageName, orders, known),
    ],
    isTest: test !== undefined,
  };
}

/** Of a purchase Google no longer answers for; who bought is known from earlier readings. */
function readOrdersOf(notification: PurchaseNotification, known: Known): Reported | Unreported {
  const { order } = notification;
  if (order === null) {
    return rejected("purchase_unknown", "Google knows no such purchase, or no longer");
  }
  const orders = confirmedOrders(notification, [order], [order], known);
  if (isUnreported(orders)) return orders;
  const buyer = { account: null, country: null };
  return { facts: orders.flatMap((one) => readOrder(one, buyer)), isTest: null };
}

/**
 * The orders that exist, those needed among them. What is reported as voided must show it: an
 * answer of before the refund was processed, taken for all there is, would lose it, since no other
 * notification reports it. A subscription voided as a whole may have been returned in part: what
 * was left of its period.
 */
function confirmedOrders(
  { packageName, order: voided, isWhole, kind }: PurchaseNotification,
  ids: readonly string[],
  needed: readonly string[],
  known: Known,
): readonly Order[] | Unreported {
  const orders = ordersIn(packageName, ids, known);
  if (isUnreported(orders)) return orders;
  const found = new Map(orders.map((order) => [order.orderId, order]));
  if (!needed.every((id) => found.has(id))) return orderUnknown;
  if (voided === null) return orders;
  const order = found.get(voided);
  if (order === undefined) return orderUnknown;
  return showsRefund(order, isWhole && kind === "product")
    ? orders
    : rejected("refund_unconfirmed", "Google shows no refund yet, or not all of it, of an order");
}

const orderUnknown = rejected("order_unknown", "Google names an order and does not answer for it");

/**
 * The catalogue's names; where it has no such product (any more), the title in the order, though
 * that is in the buyer's language.
 */
function namesIn(packageName: string, orders: readonly Order[], known: Known): FactBody[] {
  const names = new Map<string, string>();
  for (const line of orders.flatMap(({ lineItems }) => lineItems)) {
    const answer = known.answers.get(cataloguePath(packageName, line));
    const title = answer === null ? (line.productTitle?.trim() ?? "") : (nameIn(answer) ?? "");
    if (title !== "") names.set(line.productId, title);
  }
  return [...names].map(([external_id, name]) => ({ Sku: { external_id, name } }));
}
