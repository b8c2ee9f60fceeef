/**
 * Makes event bodies in the shapes Lemon Squeezy sends, and answers in those of its API, for tests,
 * the demo and the load generator. `sign` in index.ts makes the header that goes with them.
 *
 * Times are ms since 1970, amounts minor units (`bigint`), sent as Lemon Squeezy writes them: ISO
 * 8601 with six decimals, and numbers. Each maker takes what matters and fills in what the
 * adapter reads; whole bodies are its fixtures. `lemonEvent` wraps an object into an event.
 */
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

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

/** The bytes Lemon Squeezy posts: on one line. */
export function eventBody(event: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(event));
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
  const created = isoTime(input.createdAt);
  const updated = isoTime(input.updatedAt);
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
      trial_ends_at: timeOrNull(input.trialEndsAt),
      first_subscription_item: {
        id: input.item,
        subscription_id: id,
        price_id: input.price,
        quantity: input.quantity ?? 1,
        created_at: created,
        updated_at: updated,
      },
      urls: {},
      ends_at: timeOrNull(input.endsAt),
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
  const { total, tax = 0n, discount = 0n, setupFee = 0n } = input;
  const quantity = input.quantity ?? 1;
  const price = input.firstPrice ?? (total - tax + discount - setupFee) / BigInt(quantity);
  return {
    type: "orders",
    id: input.id,
    attributes: {
      ...moneyOf(input),
      ...(input.person && { user_name: input.person.name, user_email: input.person.email }),
      setup_fee: units(setupFee),
      first_order_item: {
        order_id: input.id,
        product_id: input.product,
        variant_id: input.product,
        price_id: input.priceId ?? input.product,
        product_name: input.productName ?? `Product ${input.product}`,
        price: units(price),
        quantity,
        created_at: isoTime(input.createdAt),
        updated_at: isoTime(input.createdAt),
        test_mode: false,
      },
      urls: {},
    },
  };
}

export interface InvoiceInput extends MoneyInput {
  readonly subscription: number;
  readonly reason: "initial" | "renewal" | "updated";
}

export function invoiceObject(input: InvoiceInput): LemonObject {
  return {
    type: "subscription-invoices",
    id: input.id,
    attributes: {
      ...moneyOf(input),
      subscription_id: input.subscription,
      billing_reason: input.reason,
      urls: {},
    },
  };
}

function moneyOf(input: MoneyInput): JsonObject {
  const { total, tax = 0n, discount = 0n, refundedAmount = 0n } = input;
  const isWhole = refundedAmount >= total && total > 0n;
  const partly = refundedAmount > 0n ? (isWhole ? "refunded" : "partial_refund") : "paid";
  const status = input.status ?? partly;
  const updated = isoTime(input.updatedAt ?? input.createdAt);
  return {
    store_id: 1,
    customer_id: input.customer,
    user_name: "A Person",
    user_email: "person@example.com",
    currency: input.currency,
    currency_rate: input.rate ?? "1.00000000",
    status,
    refunded: isWhole,
    refunded_at: refundedAmount > 0n ? updated : null,
    subtotal: units(total - tax + discount),
    discount_total: units(discount),
    tax: units(tax),
    total: units(total),
    refunded_amount: units(refundedAmount),
    // In US cents.
    total_usd: units(total),
    created_at: isoTime(input.createdAt),
    updated_at: updated,
  };
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
  return {
    variant_id: 1,
    category: "subscription",
    scheme: "standard",
    usage_aggregation: null,
    unit_price: units(input.unitPrice),
    unit_price_decimal: null,
    setup_fee: null,
    package_size: 1,
    tiers: null,
    renewal_interval_unit: input.interval ?? "month",
    renewal_interval_quantity: input.intervalCount ?? 1,
    ...input.more,
  };
}

/** Six decimals, as Lemon Squeezy writes all times. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString().replace("Z", "000Z");
}

function timeOrNull(atMs: number | null | undefined): string | null {
  return atMs === null || atMs === undefined ? null : isoTime(atMs);
}

/** A JSON number of an amount; our own mistake when it does not hold it. */
function units(amount: bigint): number {
  const value = Number(amount);
  if (!Number.isSafeInteger(value)) throw new RangeError(`amount ${amount} is no JSON integer`);
  return value;
}
