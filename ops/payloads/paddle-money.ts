/** The entities that report money (see payloads.ts): transactions and adjustments. */
import { fixture, from, type JsonObject, microseconds, sum } from "./json.js";

const completed = "simulated.transaction.completed";
const transaction = fixture("paddle", completed, "data");
const lineItem = fixture("paddle", completed, "data", "details", "line_items", 0);
const payment = fixture("paddle", completed, "data", "payments", 0);
const adjustment = fixture("paddle", "adjustment.created.approved", "data");
const adjusted = fixture("paddle", "adjustment.created.approved", "data", "totals");

export interface LineInput {
  /** txnitm_…, by which refunds name the line */
  readonly id: string;
  readonly price: JsonObject;
  readonly product: JsonObject;
  readonly quantity?: number;
  /** Before tax. */
  readonly subtotal: bigint;
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
}

export function transactionData(input: TransactionInput): JsonObject {
  const { currency, createdAt, paidAt, credit = 0n, lines, status = "completed" } = input;
  const subtotal = sum(lines.map((one) => one.subtotal));
  const tax = sum(lines.map((one) => one.tax ?? 0n));
  const total = subtotal + tax;
  const grandTotal = total - credit;
  const fee = status === "completed" ? (input.fee ?? grandTotal / 20n) : null;
  const paid = paidAt === null || grandTotal === 0n ? [] : [paymentOf(grandTotal, paidAt)];
  const totals = {
    ...texts({ subtotal, discount: 0n, tax, total, credit }),
    credit_to_balance: "0",
    balance: paidAt === null ? String(grandTotal) : "0",
    grand_total: String(grandTotal),
    grand_total_tax: String(credit === 0n ? tax : (tax * grandTotal) / total),
    fee: fee === null ? null : String(fee),
    earnings: fee === null ? null : String(grandTotal - tax - fee),
    currency_code: currency,
  };
  return from(transaction, {
    id: input.id,
    status,
    origin: input.origin ?? "web",
    customer_id: input.customer,
    address_id: input.address ?? null,
    subscription_id: input.subscription ?? null,
    currency_code: currency,
    created_at: microseconds(createdAt),
    updated_at: microseconds(paidAt ?? createdAt),
    billed_at: microseconds(createdAt),
    items: lines.map(({ price, quantity = 1 }) => ({ price, quantity })),
    details: {
      totals,
      payout_totals: { ...totals, exchange_rate: "1", fee_rate: "0.05" },
      line_items: lines.map(lineOf),
      tax_rates_used: [],
    },
    payments: paid,
  });
}

function lineOf({ id, price, quantity = 1, product, ...money }: LineInput): JsonObject {
  const { subtotal, tax = 0n } = money;
  const totals = texts({ subtotal, discount: 0n, tax, total: subtotal + tax });
  const price_id = price["id"] ?? null;
  return from(lineItem, { id, price_id, quantity, unit_totals: totals, totals, product });
}

function paymentOf(amount: bigint, at: number): JsonObject {
  return from(payment, {
    payment_attempt_id: `attempt_${at}`,
    amount: String(amount),
    status: "captured",
    error_code: null,
    created_at: microseconds(at - 1000),
    captured_at: microseconds(at),
  });
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
  const { items = [], type = "full" } = input;
  const total = input.total ?? sum(items.map(({ amount }) => amount));
  const tax = input.tax ?? sum(items.map((item) => item.tax ?? 0n));
  const totals = {
    ...adjusted,
    ...texts({ subtotal: total - tax, tax, total, earnings: total - tax }),
    currency_code: input.currency,
  };
  return from(adjustment, {
    id: input.id,
    action: input.action,
    type,
    status: input.status,
    transaction_id: input.transaction,
    subscription_id: input.subscription ?? null,
    customer_id: input.customer,
    currency_code: input.currency,
    created_at: microseconds(input.createdAt),
    items: items.map(({ line: item_id, amount, tax: within = 0n }, index) => ({
      id: `${input.id.replace(/^adj_/, "adjitm_")}_${index}`,
      item_id,
      type,
      amount: String(amount),
      proration: null,
      totals: texts({ subtotal: amount - within, tax: within, total: amount }),
    })),
    totals,
    payout_totals: { ...totals, exchange_rate: "1" },
  });
}

/** Paddle writes amounts as text. */
function texts<Name extends string>(amounts: Record<Name, bigint>): Record<string, string> {
  return Object.fromEntries(Object.entries<bigint>(amounts).map(([name, one]) => [name, `${one}`]));
}
