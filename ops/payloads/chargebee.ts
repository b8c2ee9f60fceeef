/**
 * Makes event bodies in the shapes Chargebee sends (API v2, Product Catalog 2.0), for tests. `sign`
 * in providers/chargebee makes the header that goes with them.
 *
 * Times are ms since 1970, sent as seconds; amounts are `bigint` as Chargebee writes them (two
 * decimals, none of yen). Each maker takes what matters and fills in the rest.
 */
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

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

export function customerObject(input: {
  readonly customer: string;
  readonly country?: string | null;
  readonly at: number;
}): JsonObject {
  const { customer, country = "DE", at } = input;
  return {
    id: customer,
    first_name: "Customer",
    last_name: customer,
    company: "Example Ltd",
    email: `${customer}@example.com`,
    auto_collection: "on",
    net_term_days: 0,
    created_at: seconds(at),
    ...versioned(at),
    deleted: false,
    object: "customer",
    ...(country !== null && {
      billing_address: {
        line1: "Example Street 1",
        country,
        object: "billing_address",
      },
    }),
  };
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
  readonly gateway?: string;
  readonly subscription?: string | null;
  /** Of a refund: the payment. */
  readonly of?: string;
  readonly reversal?: string;
  readonly invoices?: readonly { id: string; amount: bigint; at?: number }[];
  readonly refunds?: readonly { id: string; amount: bigint; date: number; status?: string }[];
  readonly version?: number;
}

export function transactionObject(input: TransactionInput): JsonObject {
  const { type = "payment", status = "success", subscription = null, of, reversal } = input;
  const { date } = input;
  return {
    id: input.id,
    customer_id: input.customer,
    gateway: input.gateway ?? "chargebee",
    type,
    status,
    ...(subscription !== null && { subscription_id: subscription }),
    payment_method: input.method ?? "card",
    date: seconds(date),
    exchange_rate: 1,
    amount: Number(input.amount),
    currency_code: input.currency,
    base_currency_code: "USD",
    deleted: false,
    ...versioned(input.version ?? date),
    ...(of !== undefined && {
      refunded_txn_id: of,
      linked_payments: [{ id: of }],
    }),
    ...(reversal !== undefined && { reversal_transaction_id: reversal }),
    linked_invoices: (input.invoices ?? []).map(({ id, amount, at = date }) => ({
      invoice_id: id,
      applied_amount: Number(amount),
      applied_at: seconds(at),
      invoice_status: "paid",
    })),
    linked_refunds: (input.refunds ?? []).map((refund) => ({
      txn_id: refund.id,
      txn_status: refund.status ?? "success",
      txn_date: seconds(refund.date),
      txn_amount: Number(refund.amount),
    })),
    object: "transaction",
  };
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
  const { id, subscription = null, country = "DE", tax = 0n, lines, payments = [], date } = input;
  const net = lines.reduce((sum, { amount, discount = 0n }) => sum + amount - discount, 0n);
  const paid = payments.reduce((sum, { amount }) => sum + amount, 0n);
  const isWhole = paid >= net + tax;
  return {
    id,
    customer_id: input.customer,
    recurring: subscription !== null,
    ...(subscription !== null && { subscription_id: subscription }),
    status: input.status ?? (isWhole ? "paid" : "payment_due"),
    price_type: "tax_exclusive",
    date: seconds(date),
    currency_code: input.currency,
    base_currency_code: "USD",
    exchange_rate: 1,
    sub_total: Number(net),
    tax: Number(tax),
    total: Number(net + tax),
    amount_paid: Number(paid),
    credits_applied: 0,
    amount_due: Number(net + tax - paid),
    ...versioned(input.version ?? date),
    line_items: lines.map(({ price, amount, discount = 0n }, index) => ({
      id: `li_${id}_${index}`,
      date_from: seconds(date),
      date_to: seconds(date),
      unit_amount: Number(amount),
      quantity: 1,
      amount: Number(amount),
      discount_amount: Number(discount),
      item_level_discount_amount: 0,
      is_taxed: tax > 0n,
      description: price ?? "Ad hoc",
      tax_amount: 0,
      object: "line_item",
      entity_type: price === null ? "adhoc" : "plan_item_price",
      ...(price !== null && { entity_id: price }),
    })),
    linked_payments: payments.map((payment) => ({
      txn_id: payment.id,
      applied_amount: Number(payment.amount),
      applied_at: seconds(payment.at),
      txn_status: payment.status ?? "success",
      txn_date: seconds(payment.at),
      txn_amount: Number(payment.amount),
    })),
    ...(country !== null && {
      billing_address: {
        country,
        object: "billing_address",
      },
    }),
    deleted: false,
    object: "invoice",
  };
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
    readonly quantity?: number;
    readonly metered?: string;
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
  const { startedAt, trialEndsAt = null, coupons, discounts, unit = "month" } = input;
  const dated = (name: string, at: number | null | undefined): JsonObject =>
    typeof at === "number" ? { [name]: seconds(at) } : {};
  return {
    id: input.id,
    customer_id: input.customer,
    currency_code: input.currency,
    status: input.status,
    billing_period: input.period ?? 1,
    ...(unit !== null && { billing_period_unit: unit }),
    ...dated("created_at", startedAt ?? input.version),
    ...dated("started_at", startedAt),
    ...(trialEndsAt !== null && dated("trial_start", startedAt)),
    ...dated("trial_end", trialEndsAt),
    ...dated("activated_at", input.activatedAt),
    ...dated("pause_date", input.pausedAt),
    ...dated("cancelled_at", input.cancelledAt),
    ...versioned(input.version),
    subscription_items: input.items.map(
      ({ price, amount, type = "plan", quantity = 1, metered }) => ({
        item_price_id: price,
        item_type: type,
        quantity,
        object: "subscription_item",
        ...(amount !== null && {
          unit_price: Number(amount) / quantity,
          amount: Number(amount),
        }),
        ...(metered !== undefined && { metered_quantity: metered }),
      }),
    ),
    ...(coupons && {
      coupons: coupons.map(({ id, until }) => ({
        coupon_id: id,
        applied_count: 1,
        object: "coupon",
        ...dated("apply_till", until),
      })),
    }),
    ...(discounts && { discounts: [...discounts] }),
    has_scheduled_changes: false,
    deleted: false,
    object: "subscription",
  };
}

export function couponObject(input: {
  readonly id: string;
  readonly percentage?: number;
  readonly amount?: bigint;
  readonly currency?: string;
  readonly duration?: "one_time" | "forever" | "limited_period";
  /** Item prices; left out: the whole invoice. */
  readonly only?: readonly string[] | "by criteria";
  readonly at: number;
}): JsonObject {
  const { percentage, amount, only, at } = input;
  const ids = only === "by criteria" ? [] : [...(only ?? [])];
  return {
    id: input.id,
    name: input.id,
    status: "active",
    created_at: seconds(at),
    ...(percentage === undefined
      ? {
          discount_type: "fixed_amount",
          discount_amount: Number(amount ?? 0n),
        }
      : {
          discount_type: "percentage",
          discount_percentage: percentage,
        }),
    ...(input.currency !== undefined && { currency_code: input.currency }),
    duration_type: input.duration ?? "forever",
    ...versioned(at),
    object: "coupon",
    apply_on: only === undefined ? "invoice_amount" : "each_specified_item",
    ...(only !== undefined && {
      item_constraints: [
        {
          item_type: "plan",
          item_price_ids: ids,
          constraint: only === "by criteria" ? "criteria" : "specific",
        },
      ],
    }),
  };
}

export function priceObject(price: string, name: string, at: number): JsonObject {
  return {
    id: price,
    name: `${name} (internal)`,
    external_name: name,
    item_id: price,
    status: "active",
    pricing_model: "per_unit",
    currency_code: "USD",
    ...versioned(at),
    object: "item_price",
  };
}

function seconds(at: number): number {
  return Math.floor(at / 1000);
}
