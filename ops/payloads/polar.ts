/**
 * Makes event bodies in the shapes Polar sends, for tests. `sign` in providers/polar makes the
 * headers that go with them.
 *
 * Times are ms since 1970, amounts minor units (`bigint`), sent as Polar writes them: ISO 8601 with
 * six decimals, and integers. Each maker takes what matters and fills in the rest.
 */
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** @param data as the makers below return it */
export function polarEvent(type: string, at: number, data: JsonObject): JsonObject {
  return { type, timestamp: isoTime(at), data };
}

/** Of a customer `1`, `00000001-…`; the kind keeps ids of different things apart. */
function polarId(kind: keyof typeof kinds, number: number): string {
  const [block, rest] = [kinds[kind], number.toString(16).padStart(12, "0")];
  return `5f0c${block}-7a10-4c2e-9b1d-${rest}`;
}

const kinds = {
  organization: "0001",
  customer: "0002",
  product: "0003",
  price: "0004",
  subscription: "0005",
  order: "0006",
  refund: "0007",
  discount: "0008",
} as const;

interface CustomerInput {
  readonly customer: number;
  readonly country?: string | null;
  readonly createdAt: number;
}

function customerObject({ customer, country = "DE", createdAt }: CustomerInput): JsonObject {
  return {
    id: polarId("customer", customer),
    created_at: isoTime(createdAt),
    modified_at: null,
    metadata: {},
    external_id: null,
    email: `customer-${customer}@example.com`,
    email_verified: true,
    type: "individual",
    name: `Customer ${customer}`,
    billing_name: null,
    billing_address: country === null ? null : addressIn(country),
    tax_id: null,
    locale: "en",
    organization_id: polarId("organization", 1),
    default_payment_method_id: null,
    deleted_at: null,
  };
}

function addressIn(country: string): JsonObject {
  return { line1: null, line2: null, postal_code: null, city: null, state: null, country };
}

interface ProductInput {
  readonly product: number;
  readonly productName?: string;
  readonly createdAt: number;
}

export function productObject({ product, productName, createdAt }: ProductInput): JsonObject {
  return {
    id: polarId("product", product),
    created_at: isoTime(createdAt),
    modified_at: null,
    metadata: {},
    name: productName ?? `Product ${product}`,
    description: null,
    recurring_interval: null,
    recurring_interval_count: null,
    trial_interval: null,
    trial_interval_count: null,
    is_recurring: false,
    is_archived: false,
    visibility: "public",
    organization_id: polarId("organization", 1),
  };
}

export interface OrderInput extends CustomerInput, ProductInput {
  readonly id: number;
  readonly currency: string;
  /** After discounts, before taxes. */
  readonly net: bigint;
  readonly tax?: bigint;
  readonly discount?: bigint;
  /** Negative: the customer's balance paid so much. */
  readonly balance?: bigint;
  readonly fee?: bigint;
  /** Before taxes. */
  readonly refunded?: bigint;
  readonly refundedTax?: bigint;
  readonly subscription?: number | null;
  readonly reason?: string;
  readonly status?: string;
  readonly modifiedAt?: number;
}

export function orderObject(input: OrderInput): JsonObject {
  const { id, net, tax = 0n, discount = 0n, balance = 0n, refunded = 0n, refundedTax = 0n } = input;
  const { subscription = null, fee = 0n, country = "DE", modifiedAt } = input;
  const whole = net + balance;
  const refundedStatus = refunded < whole ? "partially_refunded" : "refunded";
  const status = input.status ?? (refunded + refundedTax === 0n ? "paid" : refundedStatus);
  const listed = Number(net + discount);
  return {
    id: polarId("order", id),
    created_at: isoTime(input.createdAt),
    modified_at: modifiedAt === undefined ? null : isoTime(modifiedAt),
    status,
    paid: !["draft", "pending", "void"].includes(status),
    subtotal_amount: listed,
    discount_amount: Number(discount),
    net_amount: Number(net),
    tax_amount: Number(tax),
    total_amount: Number(net + tax),
    applied_balance_amount: Number(balance),
    due_amount: Math.max(0, Number(net + tax + balance)),
    refunded_amount: Number(refunded),
    refunded_tax_amount: Number(refundedTax),
    currency: input.currency.toLowerCase(),
    billing_reason: input.reason ?? (subscription === null ? "purchase" : "subscription_cycle"),
    billing_name: null,
    billing_address: country === null ? null : addressIn(country),
    invoice_number: `DEMO-${id}`,
    is_invoice_generated: false,
    receipt_number: null,
    seats: null,
    units: null,
    customer_id: polarId("customer", input.customer),
    product_id: polarId("product", input.product),
    discount_id: null,
    subscription_id: subscription === null ? null : polarId("subscription", subscription),
    checkout_id: null,
    metadata: {},
    custom_field_data: {},
    platform_fee_amount: Number(fee),
    platform_fee_currency: fee === 0n ? null : input.currency.toLowerCase(),
    customer: customerObject(input),
    product: productObject(input),
    discount: null,
    subscription: null,
    items: [
      {
        id: polarId("order", id).replace("7a10", "7a11"),
        created_at: isoTime(input.createdAt),
        modified_at: null,
        label: input.productName ?? `Product ${input.product}`,
        amount: listed,
        tax_amount: Number(tax),
        proration: false,
        product_price_id: polarId("price", input.product),
      },
    ],
    description: input.productName ?? `Product ${input.product}`,
  };
}

export interface RefundInput {
  readonly id: number;
  readonly order: number;
  readonly customer: number;
  readonly currency: string;
  /** Before taxes. */
  readonly amount: bigint;
  readonly tax?: bigint;
  readonly status?: string;
  readonly subscription?: number | null;
  readonly createdAt: number;
  readonly modifiedAt?: number;
}

export function refundObject(input: RefundInput): JsonObject {
  const { subscription = null, modifiedAt } = input;
  return {
    id: polarId("refund", input.id),
    created_at: isoTime(input.createdAt),
    modified_at: modifiedAt === undefined ? null : isoTime(modifiedAt),
    metadata: {},
    status: input.status ?? "succeeded",
    reason: "customer_request",
    amount: Number(input.amount),
    tax_amount: Number(input.tax ?? 0n),
    currency: input.currency.toLowerCase(),
    organization_id: polarId("organization", 1),
    order_id: polarId("order", input.order),
    subscription_id: subscription === null ? null : polarId("subscription", subscription),
    customer_id: polarId("customer", input.customer),
    revoke_benefits: false,
    dispute: null,
  };
}

export interface SubscriptionInput extends CustomerInput, ProductInput {
  readonly id: number;
  readonly status: string;
  /** Of a period, after a discount. */
  readonly amount: bigint;
  readonly currency: string;
  readonly interval?: string;
  readonly intervalCount?: number;
  readonly trialEndsAt?: number | null;
  readonly endsAtPeriodEnd?: boolean;
  readonly endedAt?: number | null;
  readonly pausedAt?: number | null;
  readonly discount?: JsonObject | null;
  readonly prices?: JsonObject[];
  readonly modifiedAt?: number;
}

export function subscriptionObject(input: SubscriptionInput): JsonObject {
  const { createdAt, trialEndsAt = null, discount = null, modifiedAt, interval = "month" } = input;
  const orNull = (at: number | null | undefined): string | null =>
    typeof at === "number" ? isoTime(at) : null;
  const cancelled = input.endsAtPeriodEnd === true || typeof input.endedAt === "number";
  const currency = input.currency.toLowerCase();
  return {
    id: polarId("subscription", input.id),
    created_at: isoTime(createdAt),
    modified_at: orNull(modifiedAt),
    amount: Number(input.amount),
    currency,
    recurring_interval: interval,
    recurring_interval_count: input.intervalCount ?? 1,
    status: input.status,
    current_period_start: isoTime(createdAt),
    current_period_end: isoTime(trialEndsAt ?? createdAt + 30 * 24 * 60 * 60 * 1000),
    trial_start: trialEndsAt === null ? null : isoTime(createdAt),
    trial_end: orNull(trialEndsAt),
    cancel_at_period_end: input.endsAtPeriodEnd === true,
    canceled_at: cancelled ? isoTime(modifiedAt ?? createdAt) : null,
    started_at: isoTime(createdAt),
    ends_at: null,
    ended_at: orNull(input.endedAt),
    past_due_at: null,
    pause_at_period_end: false,
    paused_at: orNull(input.pausedAt),
    resumes_at: null,
    customer_id: polarId("customer", input.customer),
    product_id: polarId("product", input.product),
    discount_id: discount === null ? null : polarId("discount", 1),
    checkout_id: null,
    seats: null,
    units: null,
    customer_cancellation_reason: null,
    customer_cancellation_comment: null,
    metadata: {},
    custom_field_data: {},
    customer: customerObject(input),
    product: { ...productObject(input), is_recurring: true, recurring_interval: interval },
    discount,
    prices: input.prices ?? [
      fixedPrice({ product: input.product, amount: input.amount, currency, createdAt }),
    ],
    meters: [],
    pending_update: null,
  };
}

export function fixedPrice(price: {
  readonly product: number;
  readonly amount: bigint;
  readonly currency: string;
  readonly createdAt: number;
}): JsonObject {
  return {
    id: polarId("price", price.product),
    created_at: isoTime(price.createdAt),
    modified_at: null,
    source: "catalog",
    amount_type: "fixed",
    price_currency: price.currency.toLowerCase(),
    tax_behavior: null,
    is_archived: false,
    product_id: polarId("product", price.product),
    price_amount: Number(price.amount),
  };
}

/** @param type `fixed` of amounts by currency, `percentage` of a hundredth of a percent */
export function discountObject(input: {
  readonly duration: "once" | "forever" | "repeating";
  readonly months?: number;
  readonly amounts?: Readonly<Record<string, number>>;
  readonly basisPoints?: number;
  readonly createdAt: number;
}): JsonObject {
  const { duration, months, amounts, basisPoints } = input;
  return {
    id: polarId("discount", 1),
    created_at: isoTime(input.createdAt),
    modified_at: null,
    metadata: {},
    name: "Launch",
    code: "LAUNCH",
    starts_at: null,
    ends_at: null,
    max_redemptions: null,
    redemptions_count: 1,
    organization_id: polarId("organization", 1),
    duration,
    ...(months !== undefined && { duration_in_months: months }),
    ...(amounts === undefined
      ? { type: "percentage", basis_points: basisPoints ?? 0 }
      : { type: "fixed", amounts: { ...amounts } }),
  };
}

/** Six decimals, as Polar writes them. */
function isoTime(at: number): string {
  return new Date(at).toISOString().replace(/Z$/, "000Z");
}
