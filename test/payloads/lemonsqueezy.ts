/** Subscriptions of Lemon Squeezy, their invoices, and what its API answers. */
import { microseconds, orNull, sent } from "../../ops/payloads/json.js";
import {
  type JsonObject,
  type LemonObject,
  type MoneyInput,
  moneyOf,
} from "../../ops/payloads/lemonsqueezy.js";

export interface SubscriptionInput {
  readonly id: number;
  readonly store?: number;
  readonly customer: number;
  readonly order: number;
  readonly product: number;
  readonly productName?: string;
  readonly price: number;
  readonly quantity?: number;
  readonly item: number;
  readonly status:
    | "on_trial"
    | "active"
    | "paused"
    | "past_due"
    | "unpaid"
    | "cancelled"
    | "expired";
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly trialEndsAt?: number | null;
  readonly endsAt?: number | null;
  readonly pause?: "void" | "free";
}

export function subscriptionObject(input: SubscriptionInput): LemonObject {
  const created = microseconds(input.createdAt);
  const updated = microseconds(input.updatedAt);
  const { id, status } = input;
  return {
    type: "subscriptions",
    id,
    attributes: {
      store_id: input.store ?? 1,
      customer_id: input.customer,
      order_id: input.order,
      product_id: input.product,
      variant_id: input.price,
      product_name: input.productName ?? `Product ${input.product}`,
      user_name: "A Person",
      user_email: "person@example.com",
      status,
      pause: input.pause === undefined ? null : { mode: input.pause, resumes_at: null },
      cancelled: status === "cancelled" || status === "expired",
      trial_ends_at: orNull(microseconds, input.trialEndsAt),
      first_subscription_item: {
        id: input.item,
        subscription_id: id,
        price_id: input.price,
        quantity: input.quantity ?? 1,
        created_at: created,
        updated_at: updated,
      },
      urls: {},
      ends_at: orNull(microseconds, input.endsAt),
      created_at: created,
      updated_at: updated,
    },
  };
}

export interface InvoiceInput extends MoneyInput {
  readonly subscription: number;
  readonly reason: "initial" | "renewal" | "updated";
}

export function invoiceObject(input: InvoiceInput): LemonObject {
  const { id, subscription: subscription_id, reason: billing_reason } = input;
  const attributes = { ...moneyOf(input), subscription_id, billing_reason, urls: {} };
  return { type: "subscription-invoices", id, attributes };
}

/** An answer of the API that holds one object. */
export function answerOf(type: string, id: number, attributes: JsonObject): JsonObject {
  return { jsonapi: { version: "1.0" }, data: { type, id: String(id), attributes } };
}

/** An answer of the API that lists objects. */
export function listAnswer(type: string, list: readonly JsonObject[]): JsonObject {
  const data = list.map((attributes, index) => ({ type, id: String(index + 1), attributes }));
  return { meta: { page: { currentPage: 1, lastPage: 1, total: list.length } }, data };
}

export function priceAttributes(input: {
  readonly unitPrice: bigint;
  readonly interval?: "day" | "week" | "month" | "year";
  readonly intervalCount?: number;
  readonly more?: JsonObject;
}): JsonObject {
  return sent({
    variant_id: 1,
    category: "subscription",
    scheme: "standard",
    usage_aggregation: null,
    unit_price: input.unitPrice,
    unit_price_decimal: null,
    setup_fee: null,
    package_size: 1,
    tiers: null,
    renewal_interval_unit: input.interval ?? "month",
    renewal_interval_quantity: input.intervalCount ?? 1,
    ...input.more,
  });
}
