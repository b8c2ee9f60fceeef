/**
 * Makes event bodies in the shapes Chargebee sends (API v2, Product Catalog 2.0), for tests. `sign`
 * in providers/chargebee makes the header that goes with them.
 *
 * Times are ms since 1970, sent as seconds; amounts are `bigint` as Chargebee writes them (two
 * decimals, none of yen). Each maker takes the fields that matter and fills in the others from a
 * fixture.
 */
import {
  fixture,
  from,
  type JsonObject,
  orNull,
  seconds,
  sent,
  sum,
} from "../../ops/payloads/json.js";

export type { JsonObject } from "../../ops/payloads/json.js";

const customer = fixture("chargebee", "customer_changed", "content", "customer");
const address = fixture("chargebee", "customer_changed", "content", "customer", "billing_address");
const transaction = fixture("chargebee", "payment_succeeded.unapplied", "content", "transaction");
const invoice = fixture("chargebee", "invoice_generated.one-time", "content", "invoice");
const line = fixture(
  "chargebee",
  "invoice_generated.one-time",
  "content",
  "invoice",
  "line_items",
  1,
);
const coupon = fixture("chargebee", "coupon_created", "content", "coupon");
const itemPrice = fixture("chargebee", "item_price_created", "content", "item_price");

export interface EventInput {
  /** ev_…, the identity of all redeliveries */
  readonly id: string;
  readonly type: string;
  readonly at: number;
  /** By kind: `transaction`, `invoice`, `subscription`, … */
  readonly content: JsonObject;
}

export function chargebeeEvent({ id, type, at, content }: EventInput): JsonObject {
  return {
    id,
    occurred_at: seconds(at),
    source: "scheduled_job",
    object: "event",
    api_version: "v2",
    event_type: type,
    webhook_status: "scheduled",
    content,
  };
}

/** An object's version, and the time it tells people. */
function versioned(at: number): JsonObject {
  return { updated_at: seconds(at), resource_version: at };
}

function secondsOr(at: number | null | undefined): number | undefined {
  return orNull(seconds, at) ?? undefined;
}

export function customerObject(input: {
  readonly customer: string;
  readonly country?: string | null;
  readonly at: number;
}): JsonObject {
  const { customer: id, country = "DE", at } = input;
  return from(customer, {
    id,
    last_name: id,
    email: `${id}@example.com`,
    created_at: seconds(at),
    ...versioned(at),
    billing_address: country === null ? undefined : from(address, { country }),
  });
}

export interface TransactionInput {
  readonly id: string;
  readonly customer: string;
  readonly currency: string;
  readonly amount: bigint;
  /** When the money moved. */
  readonly date: number;
  readonly type?: "authorization" | "payment" | "refund" | "payment_reversal";
  readonly status?: string;
  readonly method?: string;
  readonly subscription?: string | null;
  /** Of a refund: the payment. */
  readonly of?: string;
  readonly reversal?: string;
  readonly invoices?: readonly { id: string; amount: bigint; at?: number }[];
  readonly refunds?: readonly { id: string; amount: bigint; date: number; status?: string }[];
  readonly version?: number;
}

export function transactionObject(input: TransactionInput): JsonObject {
  const { date, of, invoices = [], refunds = [] } = input;
  return from(transaction, {
    id: input.id,
    customer_id: input.customer,
    type: input.type ?? "payment",
    status: input.status ?? "success",
    subscription_id: input.subscription ?? undefined,
    payment_method: input.method ?? "card",
    date: seconds(date),
    amount: input.amount,
    currency_code: input.currency,
    ...versioned(input.version ?? date),
    refunded_txn_id: of,
    linked_payments: of === undefined ? undefined : [{ id: of }],
    reversal_transaction_id: input.reversal,
    linked_invoices: invoices.map(({ id, amount, at = date }) => ({
      invoice_id: id,
      applied_amount: amount,
      applied_at: seconds(at),
      invoice_status: "paid",
    })),
    linked_refunds: refunds.map((refund) => ({
      txn_id: refund.id,
      txn_status: refund.status ?? "success",
      txn_date: seconds(refund.date),
      txn_amount: refund.amount,
    })),
  });
}

export interface InvoiceInput {
  readonly id: string;
  readonly customer: string;
  readonly currency: string;
  readonly country?: string | null;
  readonly subscription?: string | null;
  readonly date: number;
  readonly tax?: bigint;
  readonly status?: string;
  readonly lines: readonly {
    readonly price: string | null;
    readonly amount: bigint;
    readonly discount?: bigint;
  }[];
  readonly payments?: readonly { id: string; amount: bigint; at: number; status?: string }[];
  readonly version?: number;
}

/** Its total is that of its lines, and the tax on top. */
export function invoiceObject(input: InvoiceInput): JsonObject {
  const { id, subscription, country = "DE", tax = 0n, lines, payments = [], date } = input;
  const net = sum(lines.map(({ amount, discount = 0n }) => amount - discount));
  const paid = sum(payments.map(({ amount }) => amount));
  return from(invoice, {
    id,
    customer_id: input.customer,
    recurring: typeof subscription === "string",
    subscription_id: subscription ?? undefined,
    status: input.status ?? (paid >= net + tax ? "paid" : "payment_due"),
    date: seconds(date),
    currency_code: input.currency,
    sub_total: net,
    tax,
    total: net + tax,
    amount_paid: paid,
    amount_due: net + tax - paid,
    ...versioned(input.version ?? date),
    line_items: lines.map(({ price, amount, discount = 0n }, index) =>
      from(line, {
        id: `li_${id}_${index}`,
        date_from: seconds(date),
        date_to: seconds(date),
        unit_amount: amount,
        amount,
        discount_amount: discount,
        is_taxed: tax > 0n,
        description: price ?? "Ad hoc",
        entity_type: price === null ? "adhoc" : "plan_item_price",
        entity_id: price ?? undefined,
      }),
    ),
    linked_payments: payments.map((payment) => ({
      txn_id: payment.id,
      applied_amount: payment.amount,
      applied_at: seconds(payment.at),
      txn_status: payment.status ?? "success",
      txn_date: seconds(payment.at),
      txn_amount: payment.amount,
    })),
    billing_address: country === null ? undefined : { country, object: "billing_address" },
  });
}

export interface SubscriptionInput {
  readonly id: string;
  readonly customer: string;
  readonly currency: string;
  readonly status: string;
  readonly items: readonly {
    readonly price: string;
    readonly amount: bigint | null;
    readonly type?: "plan" | "addon" | "charge";
  }[];
  readonly unit?: string | null;
  readonly period?: number;
  readonly startedAt: number | null;
  readonly trialEndsAt?: number | null;
  readonly activatedAt?: number | null;
  readonly pausedAt?: number | null;
  readonly cancelledAt?: number | null;
  readonly coupons?: readonly { id: string; until?: number }[];
  readonly discounts?: readonly JsonObject[];
  readonly version: number;
}

export function subscriptionObject(input: SubscriptionInput): JsonObject {
  const { startedAt, trialEndsAt, unit = "month", version } = input;
  return sent({
    id: input.id,
    customer_id: input.customer,
    currency_code: input.currency,
    status: input.status,
    billing_period: input.period ?? 1,
    billing_period_unit: unit ?? undefined,
    created_at: seconds(startedAt ?? version),
    started_at: secondsOr(startedAt),
    trial_start: typeof trialEndsAt === "number" ? secondsOr(startedAt) : undefined,
    trial_end: secondsOr(trialEndsAt),
    activated_at: secondsOr(input.activatedAt),
    pause_date: secondsOr(input.pausedAt),
    cancelled_at: secondsOr(input.cancelledAt),
    ...versioned(version),
    subscription_items: input.items.map(({ price, amount, type = "plan" }) => ({
      item_price_id: price,
      item_type: type,
      quantity: 1,
      object: "subscription_item",
      unit_price: amount ?? undefined,
      amount: amount ?? undefined,
    })),
    coupons: input.coupons?.map(({ id, until }) => ({
      coupon_id: id,
      applied_count: 1,
      object: "coupon",
      apply_till: secondsOr(until),
    })),
    discounts: input.discounts && [...input.discounts],
    has_scheduled_changes: false,
    deleted: false,
    object: "subscription",
  });
}

/** Off the whole invoice, for ever. */
export function couponObject(given: {
  readonly id: string;
  readonly percentage: number;
  readonly at: number;
}): JsonObject {
  const { id, percentage: discount_percentage, at } = given;
  const created_at = seconds(at);
  return from(coupon, { id, name: id, created_at, discount_percentage, ...versioned(at) });
}

export function priceObject(price: string, name: string, at: number): JsonObject {
  const names = { id: price, name: `${name} (internal)`, external_name: name, item_id: price };
  return from(itemPrice, { ...names, ...versioned(at) });
}
