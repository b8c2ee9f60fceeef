/**
 * Makes webhook bodies in the shape RevenueCat sends: for tests, the demo and the property test.
 * `sign` in index.ts makes the headers that go with them.
 *
 * Times are ms since 1970. Amounts are minor units (`bigint`) and are written into the JSON as the
 * decimals RevenueCat writes, so that no amount passes through a double on its way.
 */
import { exponentOf, minorToMajor } from "../../schemas/money/money.js";

export interface PurchaseInput {
  /** The identity of all redeliveries. */
  readonly id: string;
  /** `event_timestamp_ms`: when RevenueCat made the event. */
  readonly at: number;
  readonly transaction: string;
  /** The subscription: `original_transaction_id`; its first transaction when left out. */
  readonly original?: string;
  readonly user: string;
  readonly product: string;
  readonly store?: string;
  readonly environment?: "PRODUCTION" | "SANDBOX";
  readonly periodType?: "NORMAL" | "TRIAL" | "INTRO" | "PREPAID" | "PROMOTIONAL";
  readonly purchasedAt: number;
  /** null: nothing expires (a one-time purchase). */
  readonly expirationAt: number | null;
  /** Minor units of `currency`, negative for a refund; null: the store did not report. */
  readonly amount: bigint | null;
  /** ISO 4217; null where the store did not report. */
  readonly currency: string | null;
  /** USD cents of `price`, RevenueCat's own estimate; as `amount` when left out. */
  readonly usdCents?: bigint | null;
  /** Decimal text of a fraction, as `0.1109`; null: RevenueCat has no estimate. */
  readonly tax?: string | null;
  readonly commission?: string | null;
  readonly country?: string | null;
  readonly familyShare?: boolean;
  /** Fields only this type has: `cancel_reason`, `expiration_reason`, `new_product_id` … */
  readonly more?: Readonly<Record<string, string | number | boolean | null>>;
}

export type PurchaseType =
  | "INITIAL_PURCHASE"
  | "RENEWAL"
  | "NON_RENEWING_PURCHASE"
  | "CANCELLATION"
  | "UNCANCELLATION"
  | "EXPIRATION"
  | "REFUND_REVERSED"
  | "BILLING_ISSUE"
  | "PRODUCT_CHANGE"
  | "SUBSCRIPTION_PAUSED"
  | "SUBSCRIPTION_EXTENDED";

/** The bytes RevenueCat posts for an event about a purchase. */
export function purchaseBody(type: PurchaseType, input: PurchaseInput): Buffer {
  const usd = input.usdCents === undefined ? input.amount : input.usdCents;
  const numbers = {
    price: majorText(usd, "USD"),
    price_in_purchased_currency: majorText(input.amount, input.currency ?? "USD"),
    tax_percentage: input.tax === undefined ? "0.0" : input.tax,
    commission_percentage: input.commission === undefined ? "0.3" : input.commission,
    takehome_percentage: "0.7",
  };
  const event = {
    event_timestamp_ms: input.at,
    product_id: input.product,
    period_type: input.periodType ?? "NORMAL",
    purchased_at_ms: input.purchasedAt,
    expiration_at_ms: input.expirationAt,
    environment: input.environment ?? "PRODUCTION",
    entitlement_id: null,
    entitlement_ids: ["pro"],
    presented_offering_id: null,
    transaction_id: input.transaction,
    original_transaction_id: input.original ?? input.transaction,
    is_family_share: input.familyShare ?? false,
    country_code: input.country === undefined ? "US" : input.country,
    app_user_id: input.user,
    aliases: [input.user],
    original_app_user_id: input.user,
    currency: input.currency,
    subscriber_attributes: {},
    store: input.store ?? "APP_STORE",
    offer_code: null,
    ...input.more,
    type,
    id: input.id,
    app_id: "app1a2b3c4d5e",
  };
  const written = Object.entries(numbers).map(([name, text]) => `"${name}":${text}`);
  const rest = JSON.stringify(event).slice(1);
  return Buffer.from(`{"event":{${written.join(",")},${rest},"api_version":"1.0"}`);
}

function majorText(amountMinor: bigint | null, currency: string): string {
  return amountMinor === null ? "null" : minorToMajor(amountMinor, exponentOf(currency) ?? 2);
}
