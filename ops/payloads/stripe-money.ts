/** The objects that report money (see stripe.ts): charges, invoices, refunds, disputes. */
import { textOf } from "../../providers/fields.js";
import { fixture, from, type JsonObject, seconds, sent, sum } from "./json.js";
import { type ApiVersion, isNewLayout } from "./stripe.js";

const link = fixture("stripe", "invoice_payment.paid.intent.new", "data", "object");
const refund = fixture("stripe", "refund.created.new", "data", "object");
const dispute = fixture("stripe", "charge.dispute.created.new", "data", "object");
const disputed = "charge.dispute.closed.lost-in-part.new";
const movement = fixture("stripe", disputed, "data", "object", "balance_transactions", 0);

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
  const { id, amount, captured = true, amountRefunded = 0n, status = "succeeded" } = input;
  const { amountCaptured = captured ? amount : 0n, refunds = [] } = input;
  const ofOldLayout = {
    invoice: input.invoice ?? null,
    refunds: {
      object: "list",
      data: [...refunds],
      has_more: false,
      total_count: refunds.length,
      url: `/v1/charges/${id}/refunds`,
    },
  };
  return sent({
    id,
    object: "charge",
    amount,
    amount_captured: amountCaptured,
    amount_refunded: amountRefunded,
    balance_transaction: amountCaptured > 0n ? `txn_${id}` : null,
    billing_details: { address: address(input.country ?? null), email: null, name: null },
    captured,
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    customer: input.customer,
    description: null,
    disputed: false,
    failure_code: null,
    ...(isNewLayout(input.version) ? {} : ofOldLayout),
    livemode: true,
    metadata: {},
    paid: status !== "failed",
    payment_intent: input.paymentIntent,
    payment_method: `pm_${id}`,
    receipt_url: `https://pay.stripe.com/receipts/${input.invoice ? "invoices" : "payment"}/CAcaFw`,
    refunded: amountRefunded > 0n && amountRefunded === amount,
    status,
  });
}

/** A charge as its list has it that was asked to expand what it cost. */
export function withFee(charge: JsonObject, fee: number): JsonObject {
  const amount = Number(charge.amount);
  const balance = {
    id: `txn_${textOf(charge.id)}`,
    object: "balance_transaction",
    amount,
    currency: charge.currency ?? null,
    exchange_rate: null,
    fee,
    fee_details: [],
    net: amount - fee,
  };
  return { ...charge, balance_transaction: balance };
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
  const { id, lines, tax: onTop = 0n, outOfBand = false, subscription = null } = input;
  const isNew = isNewLayout(input.version);
  const inside = sum(lines.map((line) => line.taxInside ?? 0n));
  const tax = onTop + inside;
  const net = sum(lines.map((line) => line.amount - (line.discount ?? 0n)));
  const total = input.total ?? net + onTop;
  const [created, paidAt] = [seconds(input.createdAt), seconds(input.paidAt)];
  const details = { subscription };
  const layout = isNew
    ? {
        parent: subscription && { type: "subscription_details", subscription_details: details },
        total_taxes: taxesOf(onTop, inside, true),
        amount_paid_off_stripe: outOfBand ? total : undefined,
      }
    : {
        charge: input.charge ?? null,
        paid: true,
        paid_out_of_band: outOfBand,
        payment_intent: input.paymentIntent ?? null,
        subscription,
        tax: tax === 0n ? null : tax,
        total_tax_amounts: taxesOf(onTop, inside, false),
      };
  return sent({
    id,
    object: "invoice",
    amount_due: total,
    // Until 2025-03-31 money from outside was not in `amount_paid`.
    amount_paid: outOfBand && !isNew ? 0 : total,
    amount_remaining: 0,
    billing_reason:
      input.billingReason ?? (subscription === null ? "manual" : "subscription_cycle"),
    collection_method: "charge_automatically",
    created,
    currency: input.currency.toLowerCase(),
    customer: input.customer,
    customer_address: input.country === undefined ? null : address(input.country),
    discounts: [],
    lines: {
      object: "list",
      data: lines.map((line) => invoiceLine(line, input)),
      has_more: input.hasMoreLines ?? false,
      url: `/v1/invoices/${id}/lines`,
    },
    livemode: true,
    metadata: {},
    status: "paid",
    status_transitions: {
      finalized_at: created,
      marked_uncollectible_at: null,
      paid_at: paidAt,
      voided_at: null,
    },
    subtotal: total - tax,
    total,
    total_excluding_tax: total - tax,
    ...layout,
  });
}

/** By layout: since 2025-03-31, and before. */
export function taxesOf(onTop: bigint, inside: bigint, isNew: boolean): JsonObject[] {
  return [
    { amount: onTop, isInside: false },
    { amount: inside, isInside: true },
  ]
    .filter(({ amount }) => amount !== 0n)
    .map(({ amount, isInside }) =>
      sent(
        isNew
          ? { amount, tax_behavior: isInside ? "inclusive" : "exclusive" }
          : { amount, inclusive: isInside },
      ),
    );
}

function invoiceLine(line: InvoiceLineInput, invoice: InvoiceInput): JsonObject {
  const { id, product, price, subscription = null, taxInside = 0n, discount = 0n } = line;
  const isNew = isNewLayout(invoice.version);
  const kind = subscription === null ? "invoice_item_details" : "subscription_item_details";
  const layout = isNew
    ? {
        parent: { type: kind, [kind]: { subscription } },
        pricing: { type: "price_details", price_details: { price, product } },
        taxes: taxesOf(0n, taxInside, true),
      }
    : {
        price: { id: price, object: "price", product },
        subscription,
        tax_amounts: taxesOf(0n, taxInside, false),
        type: subscription === null ? "invoiceitem" : "subscription",
      };
  const start = seconds(invoice.paidAt);
  return sent({
    id,
    object: "line_item",
    amount: line.amount,
    currency: invoice.currency.toLowerCase(),
    description: null,
    discount_amounts: discount === 0n ? [] : [{ amount: discount, discount: `di_${id}` }],
    metadata: {},
    period: { end: start + 2_592_000, start },
    quantity: line.quantity ?? 1,
    ...layout,
  });
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
  return from(link, {
    id: input.id,
    amount_paid: input.amount,
    amount_requested: input.amount,
    created: seconds(input.createdAt ?? input.paidAt),
    currency: input.currency.toLowerCase(),
    invoice: input.invoice,
    livemode: true,
    payment: { type, [type]: input.payment },
    status_transitions: { canceled_at: null, paid_at: seconds(input.paidAt) },
  });
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
  const { id, status = "succeeded" } = input;
  return from(refund, {
    id,
    amount: input.amount,
    balance_transaction: input.isRelease === true ? null : `txn_${id}`,
    charge: input.charge,
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    failure_reason: status === "failed" ? "lost_or_stolen_card" : undefined,
    payment_intent: input.paymentIntent,
    reason: null,
    status,
  });
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
  const { amount, withdrawnAt, returnedAt, returnedAmount = amount } = input;
  return from(dispute, {
    id: input.id,
    amount,
    balance_transactions: [
      ...(withdrawnAt === undefined ? [] : [moved(input, -amount, withdrawnAt)]),
      ...(returnedAt === undefined ? [] : [moved(input, returnedAmount, returnedAt)]),
    ],
    charge: input.charge,
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    livemode: true,
    payment_intent: input.paymentIntent,
    status: input.status,
  });
}

function moved({ id, currency }: DisputeInput, amount: bigint, at: number): JsonObject {
  const isOut = amount < 0n;
  const fee = isOut ? 1500n : 0n;
  return from(movement, {
    id: `txn_${id}_${isOut ? "out" : "back"}`,
    amount,
    available_on: seconds(at),
    created: seconds(at),
    currency: currency.toLowerCase(),
    fee,
    net: amount - fee,
    reporting_category: isOut ? "dispute" : "dispute_reversal",
    source: id,
    status: "available",
  });
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

export function address(country: string | null): JsonObject {
  return { city: null, country, line1: null, line2: null, postal_code: null, state: null };
}
