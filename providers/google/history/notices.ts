/**
 * What Google's API lists, reported as the notifications Google would have pushed about it: they
 * make the purchase and its orders be read (questions.ts), as those of a webhook do.
 */
import { utcDay } from "../../../schemas/money/rates.js";
import { historyId } from "../../history-events.js";
import type { HistoryEvent } from "../../backfill.js";
import { digestOf } from "../chain.js";

export interface Purchased {
  readonly packageName: string;
  readonly token: string;
}

/** `notificationType` of a subscription. */
export const subscriptionType = { renewed: 2, paused: 10, expired: 13 } as const;
const purchasedProduct = 1;

/** @param answer about it; orders it does not show may have changed, so each day reads it anew */
export function subscriptionNotice(
  { packageName, token }: Purchased,
  type: number,
  { at, answer, asOf }: { readonly at: number; readonly answer: object; readonly asOf: number },
): HistoryEvent {
  const reported = { type: `${type}`, at, object: { answer }, mayRecur: true };
  const reading = utcDay(asOf);
  const nativeId = historyId(digestOf(token), reported, { passing, reading });
  const subscriptionNotification = { notificationType: type, purchaseToken: token };
  return notice(nativeId, packageName, at, { subscriptionNotification });
}

export function productNotice(
  { packageName, token }: Purchased,
  { answer, asOf }: { readonly answer: object; readonly asOf: number },
): HistoryEvent {
  const reported = { type: "product", at: asOf, object: { answer } };
  const nativeId = historyId(digestOf(token), reported, { passing, reading: "" });
  const oneTimeProductNotification = { notificationType: purchasedProduct, purchaseToken: token };
  return notice(nativeId, packageName, asOf, { oneTimeProductNotification });
}

/**
 * It is not listed whether a subscription was voided. Only renewals' orders are sure to be of one:
 * the others are read as both, and that which it is not has nothing to add.
 */
export function voidedNotices(
  { packageName, token }: Purchased,
  order: string,
  at: number,
): HistoryEvent[] {
  const types = order.includes("..") ? [productTypes.subscription] : Object.values(productTypes);
  return types.map((productType) => {
    const reported = { type: `voided ${productType}`, at, object: { order, at } };
    const nativeId = historyId(digestOf(token), reported, { passing, reading: "" });
    const voided = { purchaseToken: token, orderId: order, productType };
    return notice(nativeId, packageName, at, { voidedPurchaseNotification: voided });
  });
}

/** `productType` of a voided purchase. */
const productTypes = { subscription: 1, oneTime: 2 } as const;
const passing = /^(kind|etag)$/;

function notice(
  nativeId: string,
  packageName: string,
  at: number,
  notification: object,
): HistoryEvent {
  const reported = { version: "1.0", packageName, eventTimeMillis: `${at}`, ...notification };
  const data = Buffer.from(JSON.stringify(reported)).toString("base64");
  return { nativeId, body: { message: { messageId: nativeId, data }, subscription: "history" } };
}
