/** The entities that report money (see payloads.ts): transactions and adjustments. */
import { type JsonObject, rfc3339 } from "./paddle.js";

export interface LineInput {
  /** txnitm_…, by which refunds name the line */
  readonly id: string;
  readonly price: JsonObject;
  readonly product: JsonObject;
  readonly quantity?: number;
  /** Before discount and tax. */
  readonly subtotal: bigint;
  readonly discount?: bigint;
  readonly tax?: bigint;
}

export interface TransactionInput {
  readonly id: string;
  readonly customer: string;
  /** add_… */
  readonly address?: string;
  readonly currency: string;
  readonly createdAt: number;
  /** When the payment was captured; null: not yet. */
  readonly paidAt: number | null;
  readonly lines: readonly LineInput[];
  readonly status?: "completed" | "paid" | "ready" | "past_due";
  readonly origin?:
    | "web"
    | "api"
    | "subscription_recurring"
    | "subscription_update"
    | "subscription_charge"
    | "subscription_payment_method_change";
  readonly subscription?: string | null;
  /** Of the customer's balance, used up. */
  readonly credit?: bigint;
  readonly fee?: bigint;
  /** Failed before it worked: Paddle lists such tries, newest first. */
  readonly failedAt?: number;
}

export function transactionData(input: TransactionInput): JsonObject {
  const { currency, paidAt, credit = 0n } = input;
  const subtotal = sum(input.lines.map((line) => line.subtotal));
  const discount = sum(input.lines.map((line) => line.discount ?? 0n));
  const tax = sum(input.lines.map((line) => line.tax ?? 0n));
  const total = subtotal - discount + tax;
  const grandTotal = total - credit;
  const status = input.status ?? "completed";
  const fee = status === "completed" ? (input.fee ?? grandTotal / 20n) : null;
  const paid = paidAt === null || grandTotal === 0n ? [] : [payment(grandTotal, paidAt, true)];
  const failed = input.failedAt === undefined ? [] : [payment(grandTotal, input.failedAt, false)];
  const totals = {
    subtotal: text(subtotal),
    discount: text(discount),
    tax: text(tax),
    total: text(total),
    credit: text(credit),
    credit_to_balance: "0",
    balance: paidAt === null ? text(grandTotal) : "0",
    grand_total: text(grandTotal),
    grand_total_tax: text(credit === 0n ? tax : (tax * grandTotal) / total),
    fee: fee === null ? null : text(fee),
    earnings: fee === null ? null : text(grandTotal - tax - fee),
    currency_code: currency,
  };
  return {
    id: input.id,
    status,
    origin: input.origin ?? "web",
    customer_id: input.customer,
    address_id: input.address ?? null,
    business_id: null,
    subscription_id: input.subscription ?? null,
    currency_code: currency,
    collection_mode: "automatic",
    invoice_id: null,
    invoice_number: null,
    discount_id: null,
    billing_details: null,
    billing_period: null,
    created_at: rfc3339(input.createdAt),
    updated_at: rfc3339(paidAt ?? input.createdAt),
    billed_at: rfc3339(input.createdAt),
    items: input.lines.map(({ price, quantity }) => ({ price, quantity: quantity ?? 1 })),
    details: {
      totals,
      payout_totals: { ...totals, exchange_rate: "1", fee_rate: "0.05" },
      line_items: input.lines.map(lineItem),
      tax_rates_used: [],
    },
    payments: [...paid, ...failed],
    checkout: { url: null },
    custom_data: null,
  };
}

function lineItem(line: LineInput): JsonObject {
  const { discount = 0n, tax = 0n } = line;
  const totals = {
    subtotal: text(line.subtotal),
    discount: text(discount),
    tax: text(tax),
    total: text(line.subtotal - discount + tax),
  };
  return {
    id: line.id,
    price_id: line.price["id"] ?? null,
    quantity: line.quantity ?? 1,
    proration: null,
    tax_rate: "0",
    unit_totals: totals,
    totals,
    product: line.product,
  };
}

function payment(amount: bigint, at: number, captured: boolean): JsonObject {
  return {
    payment_attempt_id: `attempt_${at}`,
    stored_payment_method_id: null,
    amount: text(amount),
    status: captured ? "captured" : "error",
    error_code: captured ? null : "declined",
    method_details: { type: "card", card: { type: "visa", last4: "4242" } },
    created_at: rfc3339(at - 1000),
    captured_at: captured ? rfc3339(at) : null,
  };
}

export interface AdjustmentInput {
  readonly id: string;
  readonly transaction: string;
  readonly customer: string;
  readonly subscription?: string | null;
  readonly currency: string;
  readonly createdAt: number;
  readonly action:
    | "refund"
    | "credit"
    | "chargeback"
    | "chargeback_reverse"
    | "chargeback_warning"
    | "chargeback_warning_reverse";
  readonly status: "pending_approval" | "approved" | "rejected" | "reversed";
  readonly type?: "full" | "partial" | "tax" | "proration";
  /** All of it; else the sum of the items. */
  readonly total?: bigint;
  /** Within `total`. */
  readonly tax?: bigint;
  /** txnitm_…, how much of it and the tax within. */
  readonly items?: readonly {
    readonly line: string;
    readonly amount: bigint;
    readonly tax?: bigint;
  }[];
}

export function adjustmentData(input: AdjustmentInput): JsonObject {
  const { items = [], currency } = input;
  const total = input.total ?? sum(items.map(({ amount }) => amount));
  const tax = input.tax ?? sum(items.map((item) => item.tax ?? 0n));
  const type = input.type ?? "full";
  const totals = {
    subtotal: text(total - tax),
    tax: text(tax),
    total: text(total),
    fee: "0",
    retained_fee: "0",
    earnings: text(total - tax),
    currency_code: currency,
  };
  return {
    id: input.id,
    action: input.action,
    type,
    status: input.status,
    reason: "as asked for",
    transaction_id: input.transaction,
    subscription_id: input.subscription ?? null,
    customer_id: input.customer,
    currency_code: currency,
    credit_applied_to_balance: null,
    created_at: rfc3339(input.createdAt),
    // Paddle's way to say never.
    updated_at: "0001-01-01T00:00:00Z",
    items: items.map(({ line, amount, tax: within = 0n }, index) => ({
      id: `${input.id.replace(/^adj_/, "adjitm_")}_${index}`,
      item_id: line,
      type,
      amount: text(amount),
      proration: null,
      totals: { subtotal: text(amount - within), tax: text(within), total: text(amount) },
    })),
    totals,
    payout_totals: { ...totals, exchange_rate: "1" },
    tax_rates_used: [],
  };
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function text(amount: bigint): string {
  return amount.toString();
}
