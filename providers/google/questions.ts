/**
 * What a notification makes us ask, in rounds: the purchase; then its orders and the purchases it
 * replaced; then what the orders leave open. Each round asks for all that is known to be needed.
 */
import { isUnreported } from "../outcomes.js";
import type { Known, Question } from "../provider.js";
import { chainOf } from "./chain.js";
import { type PurchaseNotification, purchaseNotification } from "./notification.js";
import { ordersIn, ordersToAsk } from "./order-answers.js";
import type { Order, OrderLine } from "./orders.js";
import {
  oneTimeProductPath,
  productPath,
  subscriptionPath,
  subscriptionProductPath,
} from "./paths.js";
import { isPeriodReported } from "./periods.js";
import { orderIdsOf, productOrderIds, productPurchaseShape, purchaseShape } from "./purchase.js";

/** Names and billing periods hardly ever change. */
const catalogueFreshForMs = 24 * 60 * 60 * 1000;

export function asks(body: unknown, known: Known): Question[] {
  const notification = purchaseNotification(body);
  if (notification === null) return [];
  return notification.kind === "subscription"
    ? ofSubscription(notification, known)
    : ofProduct(notification, known);
}

function ofSubscription(notification: PurchaseNotification, known: Known): Question[] {
  const { packageName, token, order } = notification;
  const path = subscriptionPath(packageName, token);
  const questions = [required(path)];
  const answer = known.answers.get(path);
  if (answer === undefined) return questions;
  const purchase = purchaseShape.safeParse(answer).data;
  const ids = purchase ? orderIdsOf(purchase, notification, known) : [order ?? []].flat();
  if ("outcome" in ids) return questions;
  questions.push(...ordersToAsk(packageName, ids, known).map(required));
  if (purchase !== undefined) {
    const { tokens, account } = chainOf(packageName, token, known);
    const open = account === null ? tokens : [];
    questions.push(...open.map((each) => required(subscriptionPath(packageName, each))));
  }
  const orders = ordersIn(packageName, ids, known);
  return isUnreported(orders) ? questions : [...questions, ...ofCatalogue(packageName, orders)];
}

function ofProduct({ packageName, token, order }: PurchaseNotification, known: Known): Question[] {
  const path = productPath(packageName, token);
  const purchase = productPurchaseShape.safeParse(known.answers.get(path)).data;
  const ids = productOrderIds(purchase, order);
  const orders = ordersIn(packageName, ids, known);
  return [
    required(path),
    ...ordersToAsk(packageName, ids, known).map(required),
    ...(isUnreported(orders) ? [] : ofCatalogue(packageName, orders)),
  ];
}

/** Names are optional; the billing period is required where the order's own does not report it. */
function ofCatalogue(packageName: string, orders: readonly Order[]): Question[] {
  const lines = orders.flatMap((order) => order.lineItems);
  const paths = new Map<string, Question>();
  for (const line of lines) {
    const path = cataloguePath(packageName, line);
    const isNeeded = !isPeriodReported(line) || paths.get(path)?.importance === "required";
    const importance = isNeeded ? "required" : "optional";
    paths.set(path, { path, importance, freshForMs: catalogueFreshForMs, sameForAll: true });
  }
  return [...paths.values()];
}

export function cataloguePath(packageName: string, line: OrderLine): string {
  return line.subscriptionDetails
    ? subscriptionProductPath(packageName, line.productId)
    : oneTimeProductPath(packageName, line.productId);
}

function required(path: string): Question {
  return { path, importance: "required", freshForMs: 0 };
}
