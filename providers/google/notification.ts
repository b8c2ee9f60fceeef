/**
 * The push of Cloud Pub/Sub and the developer notification of Google Play inside it. Source:
 * developer.android.com/google/play/billing/rtdn-reference, cloud.google.com/pubsub/docs/push.
 */
import { z } from "zod";
import { compiled, timeMsMax } from "../fields.js";
import { issueText } from "../../schemas/issues.js";
import { jsonValue } from "../../schemas/parse.js";

interface Reported {
  readonly packageName: string;
  /** `eventTimeMillis`, ms since 1970 */
  readonly at: number;
  /** The native type, as Google's reference has it. */
  readonly type: string;
}

/** Something happened to a purchase: what, Google has to be asked. */
export interface PurchaseNotification extends Reported {
  readonly kind: "subscription" | "product";
  /** The purchase token. */
  readonly token: string;
  /** The order that was voided; null for all else. */
  readonly order: string | null;
  /** Nothing of that order is left. */
  readonly isWhole: boolean;
}

/** Others move neither money nor MRR. */
type Notification =
  | PurchaseNotification
  | (Reported & { readonly kind: "other"; readonly token: string | null });

/** Names of `subscriptionNotification.notificationType`, as Google's reference has them. */
const subscriptionTypes: ReadonlyMap<number, string> = new Map([
  [1, "SUBSCRIPTION_RECOVERED"],
  [2, "SUBSCRIPTION_RENEWED"],
  [3, "SUBSCRIPTION_CANCELED"],
  [4, "SUBSCRIPTION_PURCHASED"],
  [5, "SUBSCRIPTION_ON_HOLD"],
  [6, "SUBSCRIPTION_IN_GRACE_PERIOD"],
  [7, "SUBSCRIPTION_RESTARTED"],
  [8, "SUBSCRIPTION_PRICE_CHANGE_CONFIRMED"],
  [9, "SUBSCRIPTION_DEFERRED"],
  [10, "SUBSCRIPTION_PAUSED"],
  [11, "SUBSCRIPTION_PAUSE_SCHEDULE_CHANGED"],
  [12, "SUBSCRIPTION_REVOKED"],
  [13, "SUBSCRIPTION_EXPIRED"],
  [17, "SUBSCRIPTION_ITEMS_CHANGED"],
  [18, "SUBSCRIPTION_CANCELLATION_SCHEDULED"],
  [19, "SUBSCRIPTION_PRICE_CHANGE_UPDATED"],
  [20, "SUBSCRIPTION_PENDING_PURCHASE_CANCELED"],
  [22, "SUBSCRIPTION_PRICE_STEP_UP_CONSENT_UPDATED"],
]);
const productTypes: ReadonlyMap<number, string> = new Map([
  [1, "ONE_TIME_PRODUCT_PURCHASED"],
  [2, "ONE_TIME_PRODUCT_CANCELED"],
]);
const voidedType = "VOIDED_PURCHASE";

/** All native types with a name; numbers to come are named after theirs. */
export const namedTypes: readonly string[] = [
  ...subscriptionTypes.values(),
  ...productTypes.values(),
  voidedType,
];

const name = z.string().min(1);
const pushShape = compiled(
  z
    .object({
      message: z.object({
        messageId: name.optional(),
        message_id: name.optional(),
        data: z.string().optional().catch(undefined),
      }),
      subscription: name,
    })
    .transform(({ message }, context) => {
      const messageId = message.messageId ?? message.message_id;
      // base64; empty where the message has only attributes
      if (messageId !== undefined) return { messageId, data: message.data ?? "" };
      context.addIssue({ code: "custom", message: "no messageId" });
      return z.NEVER;
    }),
);

export interface Push {
  /** The same for every redelivery. */
  readonly messageId: string;
  readonly notification: Notification | Unreadable;
}

/** @returns null for what is no push of Pub/Sub */
export function readPush(body: unknown): Push | null {
  const push = pushShape.safeParse(body).data;
  return push ? { messageId: push.messageId, notification: readNotification(push.data) } : null;
}

/** What stands in a path of the API: printable, so that it can be encoded. */
export const apiName = z.string().regex(/^[\x21-\x7e]{1,2048}$/, "not a printable name");

const time = z
  .union([z.string().regex(/^\d{1,15}$/), z.int().nonnegative()])
  .transform(Number)
  .refine((at) => at <= timeMsMax, "no time");
const notificationShape = compiled(
  z.object({
    packageName: apiName,
    eventTimeMillis: time,
    subscriptionNotification: z
      .object({ notificationType: z.int(), purchaseToken: apiName })
      .nullish(),
    oneTimeProductNotification: z
      .object({ notificationType: z.int(), purchaseToken: apiName })
      .nullish(),
    voidedPurchaseNotification: z
      .object({
        purchaseToken: apiName,
        orderId: apiName,
        productType: z.int(),
        refundType: z.int().nullish(),
      })
      .nullish(),
    testNotification: z.unknown().optional(),
  }),
);

/** `voidedPurchaseNotification.productType`; 2 is a one-time product */
const subscriptionProduct = 1;
/** `voidedPurchaseNotification.refundType`; 2 is some of several pieces */
const wholeRefund = 1;

/** What is wrong with it; such a message can never be read and must still be taken. */
type Unreadable = { readonly unreadable: string };

function readNotification(data: string): Notification | Unreadable {
  const parsed = notificationShape.safeParse(jsonValue(Buffer.from(data, "base64")));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    if (issue === undefined) throw new Error("A failed reading without an issue");
    return { unreadable: issueText(["message.data", ...issue.path].join("."), issue) };
  }
  const { packageName, eventTimeMillis: at, testNotification: test } = parsed.data;
  const { subscriptionNotification: subscription } = parsed.data;
  const { oneTimeProductNotification: product, voidedPurchaseNotification: voided } = parsed.data;
  const reported = { packageName, at };
  if (subscription) {
    const { notificationType: number, purchaseToken: token } = subscription;
    const known = subscriptionTypes.get(number);
    // Of types to come it is not known what they move.
    const kind = known && !silentSubscriptionTypes.has(number) ? "subscription" : "other";
    const type = known ?? `SUBSCRIPTION_${number}`;
    return { kind, type, token, order: null, isWhole: false, ...reported };
  }
  if (product) {
    const { notificationType: number, purchaseToken: token } = product;
    const kind = number === purchasedProduct ? "product" : "other";
    const type = productTypes.get(number) ?? `ONE_TIME_PRODUCT_${number}`;
    return { kind, type, token, order: null, isWhole: false, ...reported };
  }
  if (voided) {
    const { purchaseToken: token, orderId: order, productType } = voided;
    const kind = productType === subscriptionProduct ? "subscription" : "product";
    const isWhole = voided.refundType === wholeRefund;
    return { kind, type: voidedType, token, order, isWhole, ...reported };
  }
  return { kind: "other", type: test === undefined ? "OTHER" : "TEST", token: null, ...reported };
}

/** The notification in a body; null where it cannot be read or moves neither money nor MRR. */
export function purchaseNotification(body: unknown): PurchaseNotification | null {
  const notification = readPush(body)?.notification;
  return !notification || "unreadable" in notification || notification.kind === "other"
    ? null
    : notification;
}

/** Types that report plans, prices to come or purchases never paid: nothing is asked for them. */
const silentSubscriptionTypes: ReadonlySet<number> = new Set([8, 11, 19, 20, 22]);
const purchasedProduct = 1;
