/**
 * Makes event bodies in the shapes Lemon Squeezy sends, and answers in those of its API, for tests,
 * the demo and the load generator. `sign` in index.ts makes the header that goes with them.
 *
 * Times are ms since 1970, amounts minor units (`bigint`), sent as Lemon Squeezy writes them: ISO
 * 8601 with six decimals, and numbers. Each maker takes what matters and fills in what the
 * adapter reads; whole bodies are its fixtures. `lemonEvent` wraps an object into an event.
 */
import { type JsonObject, microseconds, orNull, sent } from "./json.js";

export { type JsonObject, jsonBody as eventBody, microseconds as isoTime } from "./json.js";

/** An object of JSON:API; ids are strings here and integers where others name it. */
export interface LemonObject {
  readonly type: "orders" | "subscriptions" | "subscription-invoices";
  readonly id: number;
  readonly attributes: JsonObject;
}

export function lemonEvent(input: {
  readonly name: string;
  readonly object: LemonObject;
  readonly testMode?: boolean;
}): JsonObject {
  const { name, object, testMode = false } = input;
  return {
    meta: {
      test_mode: testMode,
      event_name: name,
      webhook_id: `${object.type}-${object.id}-${name}`,
    },
    data: {
      type: object.type,
      id: String(object.id),
      attributes: { ...object.attributes, test_mode: testMode },
      links: { self: `https://api.lemonsqueezy.com/v1/${object.type}/${object.id}` },
    },
  };
}

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

/** What an order and an invoice say of money alike. */
interface MoneyInput {
  readonly id: number;
  readonly customer: number;
  readonly currency: string;
  /** Of one unit, in US dollars, as decimal text. */
  readonly rate?: string;
  readonly total: bigint;
  readonly tax?: bigint;
  readonly discount?: bigint;
  readonly refundedAmount?: bigint;
  readonly status?: "paid" | "pending" | "failed" | "void" | "refunded" | "partial_refund";
  readonly createdAt: number;
  readonly updatedAt?: number;
}

export interface OrderInput extends MoneyInput {
  readonly person?: { readonly name: string; readonly email: string };
  readonly product: number;
  readonly productName?: string;
  /** Named like its product when left out. */
  readonly priceId?: number;
  readonly quantity?: number;
  readonly setupFee?: bigint;
  /** Of the first item, when the order has more than one. */
  readonly firstPrice?: bigint;
}

export function orderObject(input: OrderInput): LemonObject {
  const { id, product, productName = `Product ${product}`, total, setupFee = 0n } = input;
  const { tax = 0n, discount = 0n, quantity = 1 } = input;
  const at = microseconds(input.createdAt);
  return {
    type: "orders",
    id,
    attributes: sent({
      ...moneyOf(input),
      ...(input.person && { user_name: input.person.name, user_email: input.person.email }),
      setup_fee: setupFee,
      first_order_item: {
        order_id: id,
        product_id: product,
        variant_id: product,
        price_id: input.priceId ?? product,
        product_name: productName,
        price: input.firstPrice ?? (total - tax + discount - setupFee) / BigInt(quantity),
        quantity,
        created_at: at,
        updated_at: at,
        test_mode: false,
      },
      urls: {},
    }),
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

function moneyOf(input: MoneyInput): JsonObject {
  const { total, tax = 0n, discount = 0n, refundedAmount = 0n } = input;
  const isWhole = refundedAmount >= total && total > 0n;
  const partly = refundedAmount > 0n ? (isWhole ? "refunded" : "partial_refund") : "paid";
  const updated = microseconds(input.updatedAt ?? input.createdAt);
  return sent({
    store_id: 1,
    customer_id: input.customer,
    user_name: "A Person",
    user_email: "person@example.com",
    currency: input.currency,
    currency_rate: input.rate ?? "1.00000000",
    status: input.status ?? partly,
    refunded: isWhole,
    refunded_at: refundedAmount > 0n ? updated : null,
    subtotal: total - tax + discount,
    discount_total: discount,
    tax,
    total,
    refunded_amount: refundedAmount,
    // In US cents.
    total_usd: total,
    created_at: microseconds(input.createdAt),
    updated_at: updated,
  });
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
