/** The objects that report money (see payloads.ts): charges, invoices, refunds, disputes. */
import {
  type ApiVersion,
  isNewLayout,
  type Json,
  type JsonObject,
  seconds,
  units,
} from "./stripe.js";

export interface ChargeInput {
  readonly id: string;
  readonly paymentIntent: string | null;
  readonly customer: string | null;
  readonly amount: bigint;
  readonly currency: string;
  readonly createdAt: number;
  readonly version?: ApiVersion;
  readonly country?: string | null;
  /** in_…; in the new layout only the receipt shows that there is one. */
  readonly invoice?: string | null;
  /** Other than `amount`, or nothing, when only a part was captured, or more. */
  readonly amountCaptured?: bigint;
  readonly amountRefunded?: bigint;
  /** Listed in the old layout only. */
  readonly refunds?: readonly JsonObject[];
  readonly status?: "succeeded" | "pending" | "failed";
  /** False while a payment is only authorized, or a part of it may still be captured. */
  readonly captured?: boolean;
}

export function chargeObject(input: ChargeInput): JsonObject {
  const captured = input.captured ?? true;
  const amountCaptured = input.amountCaptured ?? (captured ? input.amount : 0n);
  const amountRefunded = input.amountRefunded ?? 0n;
  const status = input.status ?? "succeeded";
  const refunds = {
    object: "list",
    data: [...(input.refunds ?? [])],
    has_more: false,
    total_count: input.refunds?.length ?? 0,
    url: `/v1/charges/${input.id}/refunds`,
  };
  return {
    id: input.id,
    object: "charge",
    amount: units(input.amount),
    amount_captured: units(amountCaptured),
    amount_refunded: units(amountRefunded),
    balance_transaction: amountCaptured > 0n ? `txn_${input.id}` : null,
    billing_details: { address: address(input.country ?? null), email: null, name: null },
    captured,
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    customer: input.customer,
    description: null,
    disputed: false,
    failure_code: null,
    ...(isNewLayout(input.version) ? {} : { invoice: input.invoice ?? null, refunds }),
    livemode: true,
    metadata: {},
    paid: status !== "failed",
    payment_intent: input.paymentIntent,
    payment_method: `pm_${input.id}`,
    receipt_url: `https://pay.stripe.com/receipts/${input.invoice ? "invoices" : "payment"}/CAcaFw`,
    refunded: amountRefunded > 0n && amountRefunded === input.amount,
    status,
  };
}

export interface InvoiceLineInput {
  readonly id: string;
  readonly product: string;
  readonly price: string;
  /** Before discounts; negative for a credited proration. */
  readonly amount: bigint;
  readonly discount?: bigint;
  /** Within `amount`. */
  readonly taxInside?: bigint;
  readonly quantity?: number;
  /** sub_… of a recurring line. */
  readonly subscription?: string;
}

export interface InvoiceInput {
  readonly id: string;
  readonly customer: string;
  readonly currency: string;
  readonly createdAt: number;
  readonly paidAt: number;
  readonly lines: readonly InvoiceLineInput[];
  readonly version?: ApiVersion;
  readonly subscription?: string | null;
  readonly billingReason?: string;
  readonly country?: string | null;
  /** Tax on top. */
  readonly tax?: bigint;
  /** Old layout only: where the money came from. */
  readonly paymentIntent?: string | null;
  readonly charge?: string | null;
  readonly outOfBand?: boolean;
  /** True when `lines` is only the first page. */
  readonly hasMoreLines?: boolean;
  /** When it is not the sum of `lines`, discounts and tax. */
  readonly total?: bigint;
}

/** A paid invoice. */
export function invoiceObject(input: InvoiceInput): JsonObject {
  const isNew = isNewLayout(input.version);
  const onTop = input.tax ?? 0n;
  const inside = input.lines.reduce((sum, line) => sum + (line.taxInside ?? 0n), 0n);
  const tax = onTop + inside;
  const net = input.lines.reduce((sum, line) => sum + line.amount - (line.discount ?? 0n), 0n);
  const total = input.total ?? net + onTop;
  const outOfBand = input.outOfBand ?? false;
  const subscription = input.subscription ?? null;
  return {
    id: input.id,
    object: "invoice",
    amount_due: units(total),
    // Until 2025-03-31 money from outside was not in `amount_paid`.
    amount_paid: units(outOfBand && !isNew ? 0n : total),
    amount_remaining: 0,
    ...(isNew && outOfBand ? { amount_paid_off_stripe: units(total) } : {}),
    billing_reason:
      input.billingReason ?? (subscription === null ? "manual" : "subscription_cycle"),
    collection_method: "charge_automatically",
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    customer: input.customer,
    customer_address: input.country === undefined ? null : address(input.country),
    discounts: [],
    lines: {
      object: "list",
      data: input.lines.map((line) => invoiceLine(line, input)),
      has_more: input.hasMoreLines ?? false,
      url: `/v1/invoices/${input.id}/lines`,
    },
    livemode: true,
    metadata: {},
    status: "paid",
    status_transitions: {
      finalized_at: seconds(input.createdAt),
      marked_uncollectible_at: null,
      paid_at: seconds(input.paidAt),
      voided_at: null,
    },
    subtotal: units(total - tax),
    total: units(total),
    total_excluding_tax: units(total - tax),
    ...(isNew
      ? {
          parent:
            subscription === null
              ? null
              : { type: "subscription_details", subscription_details: { subscription } },
          total_taxes: taxesOf(onTop, inside, true),
        }
      : {
          charge: input.charge ?? null,
          paid: true,
          paid_out_of_band: outOfBand,
          payment_intent: input.paymentIntent ?? null,
          subscription,
          tax: tax === 0n ? null : units(tax),
          total_tax_amounts: taxesOf(onTop, inside, false),
        }),
  };
}

/** By layout: since 2025-03-31, and before. */
function taxesOf(onTop: bigint, inside: bigint, isNew: boolean): JsonObject[] {
  const parts: [amount: bigint, behavior: "exclusive" | "inclusive"][] = [
    [onTop, "exclusive"],
    [inside, "inclusive"],
  ];
  return parts
    .filter(([amount]) => amount !== 0n)
    .map(([amount, behavior]) => ({
      amount: units(amount),
      ...(isNew ? { tax_behavior: behavior } : { inclusive: behavior === "inclusive" }),
    }));
}

function invoiceLine(line: InvoiceLineInput, invoice: InvoiceInput): JsonObject {
  const subscription = line.subscription ?? null;
  const inside = line.taxInside ?? 0n;
  const layout: JsonObject = isNewLayout(invoice.version)
    ? {
        parent:
          subscription === null
            ? { type: "invoice_item_details", invoice_item_details: { subscription: null } }
            : { type: "subscription_item_details", subscription_item_details: { subscription } },
        pricing: {
          type: "price_details",
          price_details: { price: line.price, product: line.product },
        },
        taxes: taxesOf(0n, inside, true),
      }
    : {
        price: { id: line.price, object: "price", product: line.product },
        subscription,
        tax_amounts: taxesOf(0n, inside, false),
        type: subscription === null ? "invoiceitem" : "subscription",
      };
  const discount = line.discount ?? 0n;
  return {
    id: line.id,
    object: "line_item",
    amount: units(line.amount),
    currency: invoice.currency.toLowerCase(),
    description: null,
    discount_amounts:
      discount === 0n ? [] : [{ amount: units(discount), discount: `di_${line.id}` }],
    metadata: {},
    period: { end: seconds(invoice.paidAt) + 2_592_000, start: seconds(invoice.paidAt) },
    quantity: line.quantity ?? 1,
    ...layout,
  };
}

/** What ties a payment to an invoice since 2025-03-31. */
export function invoicePaymentObject(input: {
  id: string;
  invoice: string;
  /** pi_… or ch_…; pr_… of a record of money from outside Stripe */
  payment: string;
  amount: bigint;
  currency: string;
  paidAt: number;
  /** When its invoice was finalized; left out: when it was paid. */
  createdAt?: number;
}): JsonObject {
  const types = { ch: "charge", pi: "payment_intent", pr: "payment_record" } as const;
  const prefix = input.payment.slice(0, 2);
  const type = types[prefix === "pi" || prefix === "pr" ? prefix : "ch"];
  return {
    id: input.id,
    object: "invoice_payment",
    amount_paid: units(input.amount),
    amount_requested: units(input.amount),
    created: seconds(input.createdAt ?? input.paidAt),
    currency: input.currency.toLowerCase(),
    invoice: input.invoice,
    is_default: true,
    livemode: true,
    payment: { type, [type]: input.payment },
    status: "paid",
    status_transitions: { canceled_at: null, paid_at: seconds(input.paidAt) },
  };
}

export function refundObject(input: {
  id: string;
  charge: string;
  paymentIntent: string | null;
  amount: bigint;
  currency: string;
  createdAt: number;
  status?: "succeeded" | "pending" | "failed" | "canceled" | "requires_action";
  /** Of what was authorized and not captured: no money moves. */
  isRelease?: boolean;
}): JsonObject {
  const status = input.status ?? "succeeded";
  return {
    id: input.id,
    object: "refund",
    amount: units(input.amount),
    balance_transaction: input.isRelease === true ? null : `txn_${input.id}`,
    charge: input.charge,
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    ...(status === "failed" ? { failure_reason: "lost_or_stolen_card" } : {}),
    metadata: {},
    payment_intent: input.paymentIntent,
    reason: null,
    receipt_number: null,
    status,
  };
}

/** A credit note that returns money outside Stripe. */
export function creditNoteObject(input: {
  id: string;
  invoice: string;
  amountOutside: bigint;
  currency: string;
  createdAt: number;
  tax?: bigint;
  voidedAt?: number;
}): JsonObject {
  const { voidedAt } = input;
  return {
    id: input.id,
    object: "credit_note",
    amount: units(input.amountOutside),
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    invoice: input.invoice,
    livemode: true,
    metadata: {},
    out_of_band_amount: units(input.amountOutside),
    reason: null,
    refunds: [],
    status: voidedAt === undefined ? "issued" : "void",
    total: units(input.amountOutside),
    total_taxes:
      input.tax === undefined ? [] : [{ amount: units(input.tax), tax_behavior: "exclusive" }],
    type: "post_payment",
    voided_at: voidedAt === undefined ? null : seconds(voidedAt),
  };
}

export interface DisputeInput {
  readonly id: string;
  readonly charge: string;
  readonly paymentIntent: string | null;
  readonly amount: bigint;
  readonly currency: string;
  readonly createdAt: number;
  readonly status: string;
  /** When money moved; absent: none listed, as in events of some versions. */
  readonly withdrawnAt?: number;
  readonly returnedAt?: number;
  /** All of it when left out. */
  readonly returnedAmount?: bigint;
}

export function disputeObject(input: DisputeInput): JsonObject {
  const { withdrawnAt, returnedAt } = input;
  const moves: Json[] = [];
  if (withdrawnAt !== undefined) moves.push(balanceTransaction(input, -input.amount, withdrawnAt));
  if (returnedAt !== undefined) {
    moves.push(balanceTransaction(input, input.returnedAmount ?? input.amount, returnedAt));
  }
  return {
    id: input.id,
    object: "dispute",
    amount: units(input.amount),
    balance_transactions: moves,
    charge: input.charge,
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    evidence: {},
    evidence_details: { due_by: null, has_evidence: false, past_due: false, submission_count: 0 },
    is_charge_refundable: false,
    livemode: true,
    metadata: {},
    payment_intent: input.paymentIntent,
    reason: "general",
    status: input.status,
  };
}

function balanceTransaction(input: DisputeInput, amount: bigint, at: number): JsonObject {
  const fee = amount < 0n ? 1500 : 0;
  return {
    id: `txn_${input.id}_${amount < 0n ? "out" : "back"}`,
    object: "balance_transaction",
    amount: units(amount),
    created: seconds(at),
    currency: input.currency.toLowerCase(),
    exchange_rate: null,
    fee,
    fee_details: [],
    net: units(amount) - fee,
    reporting_category: amount < 0n ? "dispute" : "dispute_reversal",
    source: input.id,
    status: "available",
    type: "adjustment",
  };
}

export function sessionObject(input: {
  id: string;
  mode: "payment" | "subscription" | "setup";
  paymentStatus: "paid" | "unpaid" | "no_payment_required";
  amount: bigint;
  currency: string;
  createdAt: number;
  customer?: string | null;
  country?: string | null;
  paymentIntent?: string | null;
  invoice?: string | null;
  subscription?: string | null;
  tax?: bigint;
}): JsonObject {
  return {
    id: input.id,
    object: "checkout.session",
    amount_subtotal: units(input.amount - (input.tax ?? 0n)),
    amount_total: units(input.amount),
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    customer: input.customer ?? null,
    customer_details: { address: address(input.country ?? null), email: null, name: null },
    invoice: input.invoice ?? null,
    livemode: true,
    metadata: {},
    mode: input.mode,
    payment_intent: input.paymentIntent ?? null,
    payment_status: input.paymentStatus,
    status: "complete",
    subscription: input.subscription ?? null,
    total_details: {
      amount_discount: 0,
      amount_shipping: 0,
      amount_tax: units(input.tax ?? 0n),
    },
  };
}

export function customerObject(input: {
  readonly id: string;
  readonly country: string | null;
  readonly name?: string;
  readonly email?: string;
}): JsonObject {
  return {
    id: input.id,
    object: "customer",
    address: input.country === null ? null : address(input.country),
    balance: 0,
    created: 0,
    currency: null,
    email: input.email ?? null,
    livemode: true,
    metadata: {},
    name: input.name ?? null,
    shipping: null,
  };
}

function address(country: string | null): JsonObject {
  return { city: null, country, line1: null, line2: null, postal_code: null, state: null };
}
