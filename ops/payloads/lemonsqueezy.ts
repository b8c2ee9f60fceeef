/**
 * Makes event bodies in the shapes Lemon Squeezy sends, for tests and the demo. `sign` in index.ts
 * makes the header that goes with them.
 *
 * Times are ms since 1970, amounts minor units (`bigint`), sent as Lemon Squeezy writes them: ISO
 * 8601 with six decimals, and numbers. Each maker takes what matters and fills in what the
 * adapter reads; whole bodies are its fixtures. `lemonEvent` wraps an object into an event.
 */
import { type JsonObject, microseconds, sent } from "./json.js";

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

/** What an order and an invoice say of money alike. */
export interface MoneyInput {
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

export function moneyOf(input: MoneyInput): JsonObject {
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
