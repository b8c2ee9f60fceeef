/**
 * Makes notifications in the shapes Apple sends: for tests, the demo and the load generator. Each
 * maker takes what matters and fills in the rest as Apple does. Times are ms since 1970; prices are
 * thousandths of the currency's unit.
 *
 * Inside a made notification `signedTransactionInfo` and `signedRenewalInfo` are objects: signing
 * turns them, and then the whole, into JWS.
 */
import { type JsonObject, sent } from "./json.js";

export { type JsonObject, jsonBody as notificationBody } from "./json.js";

type AppleEnvironment = "Production" | "Sandbox";

/** What transaction, renewal info and notification all repeat. */
export interface AppInput {
  readonly bundleId: string;
  /** Sent by production only. */
  readonly appAppleId: number;
  readonly environment: AppleEnvironment;
}

export interface TransactionInput {
  readonly id: string;
  /** The first transaction's id: the same for all renewals of a subscription. */
  readonly originalId: string;
  /** The first transaction's id of the subscription this one took the place of. */
  readonly previousId?: string;
  readonly product: string;
  readonly kind?:
    | "Auto-Renewable Subscription"
    | "Non-Renewing Subscription"
    | "Consumable"
    | "Non-Consumable";
  readonly purchasedAt: number;
  /** Null for what does not expire. */
  readonly expiresAt: number | null;
  readonly signedAt: number;
  /** Null: as before October 2023, without currency, too. */
  readonly price: bigint | null;
  readonly currency: string;
  /** Alpha-3 */
  readonly storefront?: string;
  readonly quantity?: number;
  readonly reason?: "PURCHASE" | "RENEWAL";
  readonly offer?: "FREE_TRIAL" | "PAY_AS_YOU_GO" | "PAY_UP_FRONT";
  readonly ownership?: "PURCHASED" | "FAMILY_SHARED" | "ASSIGNED";
  readonly isUpgraded?: boolean;
  readonly revokedAt?: number;
  /** Thousandths of a percent. */
  readonly revocationPercentage?: number;
}

export function transactionInfo(app: AppInput, input: TransactionInput): JsonObject {
  const { kind = "Auto-Renewable Subscription", price, revokedAt, revocationPercentage } = input;
  const isProrated = revocationPercentage !== undefined;
  return sent({
    transactionId: input.id,
    originalTransactionId: input.originalId,
    previousOriginalTransactionId: input.previousId,
    webOrderLineItemId: `9${input.id}`,
    bundleId: app.bundleId,
    productId: input.product,
    subscriptionGroupIdentifier: kind === "Auto-Renewable Subscription" ? "21400010" : undefined,
    purchaseDate: input.purchasedAt,
    originalPurchaseDate: input.purchasedAt,
    expiresDate: input.expiresAt ?? undefined,
    quantity: input.quantity ?? 1,
    type: kind,
    inAppOwnershipType: input.ownership ?? "PURCHASED",
    signedDate: input.signedAt,
    revocationDate: revokedAt,
    revocationReason: revokedAt === undefined ? undefined : 0,
    revocationType: isProrated ? "REFUND_PRORATED" : undefined,
    revocationPercentage,
    isUpgraded: input.isUpgraded,
    offerType: input.offer && 1,
    offerDiscountType: input.offer,
    environment: app.environment,
    transactionReason: input.reason ?? "PURCHASE",
    storefront: input.storefront ?? "USA",
    storefrontId: "143441",
    price: price ?? undefined,
    currency: price === null ? undefined : input.currency,
    appTransactionId: `704${input.originalId}`,
  });
}

/** Only what is read by anybody: which product renews, and whether it does. */
export function renewalInfo(app: AppInput, input: RenewalInput): JsonObject {
  return sent({
    originalTransactionId: input.originalId,
    autoRenewProductId: input.product,
    productId: input.product,
    autoRenewStatus: 1,
    expirationIntent: input.expirationIntent,
    signedDate: input.signedAt,
    environment: app.environment,
  });
}

export interface RenewalInput {
  readonly originalId: string;
  readonly product: string;
  readonly expirationIntent?: number;
  readonly signedAt: number;
}

export interface NotificationInput {
  /** `notificationUUID`, the identity of all redeliveries */
  readonly id: string;
  readonly type: string;
  readonly subtype?: string;
  readonly signedAt: number;
  /** 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked; subscriptions only. */
  readonly status?: number;
  readonly transaction?: JsonObject;
  readonly renewal?: JsonObject;
}

export function appleNotification(app: AppInput, input: NotificationInput): JsonObject {
  const { bundleId, appAppleId, environment } = app;
  return sent({
    notificationType: input.type,
    subtype: input.subtype,
    notificationUUID: input.id,
    data: {
      appAppleId: environment === "Production" ? appAppleId : undefined,
      bundleId,
      bundleVersion: "412",
      environment,
      signedTransactionInfo: input.transaction,
      signedRenewalInfo: input.renewal,
      status: input.status,
    },
    version: "2.0",
    signedDate: input.signedAt,
  });
}
