/**
 * Makes event bodies in the shapes Polar sends, for tests. `sign` in providers/polar makes the
 * headers that go with them.
 *
 * Times are ms since 1970, amounts minor units (`bigint`), sent as Polar writes them: ISO 8601 with
 * six decimals, and integers. Each maker takes the fields that matter and fills in the others from
 * a fixture.
 */
import { fixture, from, type JsonObject, microseconds, orNull } from "../../ops/payloads/json.js";

export type { JsonObject } from "../../ops/payloads/json.js";

const order = fixture("polar", "order.created.free", "data");
const orderItem = fixture("polar", "order.created.free", "data", "items", 0);
const product = fixture("polar", "order.created.free", "data", "product");
const customer = fixture("polar", "customer.updated", "data");
const address = fixture("polar", "customer.updated", "data", "billing_address");
const refund = fixture("polar", "refund.created", "data");
const subscription = fixture("polar", "subscription.created.free", "data");
const price = fixture("polar", "subscription.active", "data", "prices", 0);
const discount = fixture("polar", "subscription.created.discount.once", "data", "discount");

/** @param data as the makers below return it */
export function polarEvent(type: string, at: number, data: JsonObject): JsonObject {
  return { type, timestamp: microseconds(at), data };
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
  dispute: "0009",
} as const;

interface CustomerInput {
  readonly customer: number;
  readonly country?: string | null;
  readonly createdAt: number;
}

function customerObject({ customer: number, country, createdAt }: CustomerInput): JsonObject {
  return from(customer, {
    id: polarId("customer", number),
    created_at: microseconds(createdAt),
    email: `customer-${number}@example.com`,
    name: `Customer ${number}`,
    billing_address: addressIn(country),
  });
}

function addressIn(country: string | null = "DE"): JsonObject | null {
  return country === null ? null : from(address, { country });
}

interface ProductInput {
  readonly product: number;
  readonly productName?: string;
  readonly createdAt: number;
}

export function productObject({ product: number, productName, createdAt }: ProductInput) {
  return from(product, {
    id: polarId("product", number),
    created_at: microseconds(createdAt),
    name: productName ?? `Product ${number}`,
  });
}

export interface OrderInput extends CustomerInput, ProductInput {
  readonly id: number;
  readonly currency: string;
  /** After discounts, before taxes. */
  readonly net: bigint;
  readonly tax?: bigint;
  readonly discount?: bigint;
  readonly fee?: bigint;
  /** Before taxes. */
  readonly refunded?: bigint;
  readonly refundedTax?: bigint;
  readonly subscription?: number | null;
  readonly status?: string;
  readonly modifiedAt?: number;
}

export function orderObject(input: OrderInput): JsonObject {
  const { id, net, tax = 0n, discount: off = 0n, refunded = 0n, refundedTax = 0n } = input;
  const { subscription: of = null, fee = 0n } = input;
  const refundedStatus = refunded < net ? "partially_refunded" : "refunded";
  const status = input.status ?? (refunded + refundedTax === 0n ? "paid" : refundedStatus);
  const currency = input.currency.toLowerCase();
  const description = input.productName ?? `Product ${input.product}`;
  const created_at = microseconds(input.createdAt);
  return from(order, {
    id: polarId("order", id),
    created_at,
    modified_at: orNull(microseconds, input.modifiedAt),
    status,
    paid: !["draft", "pending", "void"].includes(status),
    subtotal_amount: net + off,
    discount_amount: off,
    net_amount: net,
    tax_amount: tax,
    total_amount: net + tax,
    due_amount: net + tax,
    refunded_amount: refunded,
    refunded_tax_amount: refundedTax,
    currency,
    billing_reason: of === null ? "purchase" : "subscription_cycle",
    billing_address: addressIn(input.country),
    invoice_number: `DEMO-${id}`,
    customer_id: polarId("customer", input.customer),
    product_id: polarId("product", input.product),
    subscription_id: orNull((number) => polarId("subscription", number), of),
    platform_fee_amount: fee,
    platform_fee_currency: fee === 0n ? null : currency,
    customer: customerObject(input),
    product: productObject(input),
    items: [
      from(orderItem, {
        id: polarId("order", id).replace("7a10", "7a11"),
        created_at,
        label: description,
        amount: net + off,
        tax_amount: tax,
        product_price_id: polarId("price", input.product),
      }),
    ],
    description,
  });
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
  return from(refund, {
    id: polarId("refund", input.id),
    created_at: microseconds(input.createdAt),
    modified_at: orNull(microseconds, input.modifiedAt),
    status: input.status ?? "succeeded",
    amount: input.amount,
    tax_amount: input.tax ?? 0n,
    currency: input.currency.toLowerCase(),
    order_id: polarId("order", input.order),
    subscription_id: orNull((number) => polarId("subscription", number), input.subscription),
    customer_id: polarId("customer", input.customer),
  });
}

interface DisputeInput {
  readonly id: number;
  readonly order: number;
  readonly currency: string;
  /** Before taxes. */
  readonly amount: bigint;
  readonly tax?: bigint;
  readonly status:
    | "prevented"
    | "early_warning"
    | "needs_response"
    | "under_review"
    | "lost"
    | "won";
  readonly createdAt: number;
  readonly modifiedAt: number;
}

/** As the API lists it; no webhook has it. */
export function disputeObject(input: DisputeInput): JsonObject {
  const { status } = input;
  const resolved = status === "lost" || status === "won";
  return {
    id: polarId("dispute", input.id),
    created_at: microseconds(input.createdAt),
    modified_at: microseconds(input.modifiedAt),
    status,
    resolved,
    closed: resolved || status === "prevented",
    amount: Number(input.amount),
    tax_amount: Number(input.tax ?? 0n),
    currency: input.currency.toLowerCase(),
    order_id: polarId("order", input.order),
    payment_id: polarId("order", input.order).replace("7a10", "7a12"),
    case_id: null,
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
  const { createdAt, trialEndsAt = null, modifiedAt, interval = "month", amount } = input;
  const { endsAtPeriodEnd = false, discount: given = null } = input;
  const isCanceled = endsAtPeriodEnd || typeof input.endedAt === "number";
  const currency = input.currency.toLowerCase();
  return from(subscription, {
    id: polarId("subscription", input.id),
    created_at: microseconds(createdAt),
    modified_at: orNull(microseconds, modifiedAt),
    amount,
    currency,
    recurring_interval: interval,
    recurring_interval_count: input.intervalCount ?? 1,
    status: input.status,
    current_period_start: microseconds(createdAt),
    current_period_end: microseconds(trialEndsAt ?? createdAt + 30 * 24 * 60 * 60 * 1000),
    trial_start: trialEndsAt === null ? null : microseconds(createdAt),
    trial_end: orNull(microseconds, trialEndsAt),
    cancel_at_period_end: endsAtPeriodEnd,
    canceled_at: isCanceled ? microseconds(modifiedAt ?? createdAt) : null,
    started_at: microseconds(createdAt),
    ended_at: orNull(microseconds, input.endedAt),
    paused_at: orNull(microseconds, input.pausedAt),
    customer_id: polarId("customer", input.customer),
    product_id: polarId("product", input.product),
    discount_id: given === null ? null : polarId("discount", 1),
    customer: customerObject(input),
    product: { ...productObject(input), is_recurring: true, recurring_interval: interval },
    discount: given,
    prices: input.prices ?? [fixedPrice({ product: input.product, amount, currency, createdAt })],
  });
}

export function fixedPrice(given: {
  readonly product: number;
  readonly amount: bigint;
  readonly currency: string;
  readonly createdAt: number;
}): JsonObject {
  return from(price, {
    id: polarId("price", given.product),
    created_at: microseconds(given.createdAt),
    price_currency: given.currency.toLowerCase(),
    product_id: polarId("product", given.product),
    price_amount: given.amount,
  });
}

export function discountObject(input: {
  readonly duration: "once" | "forever";
  /** Hundredths of a percent. */
  readonly basisPoints: number;
  readonly createdAt: number;
}): JsonObject {
  const { duration, basisPoints: basis_points, createdAt } = input;
  return from(discount, { created_at: microseconds(createdAt), duration, basis_points });
}
