/** What a sale at Stripe may leave besides: sessions of its checkout, and credit notes. */
import { fixture, from, type JsonObject, orNull, seconds, sent } from "../../ops/payloads/json.js";
import { address, taxesOf } from "../../ops/payloads/stripe-money.js";

const session = fixture("stripe", "checkout.session.completed.new", "data", "object");

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
  const { amountOutside: amount, voidedAt } = input;
  return sent({
    id: input.id,
    object: "credit_note",
    amount,
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    invoice: input.invoice,
    livemode: true,
    metadata: {},
    out_of_band_amount: amount,
    reason: null,
    refunds: [],
    status: voidedAt === undefined ? "issued" : "void",
    total: amount,
    total_taxes: taxesOf(input.tax ?? 0n, 0n, true),
    type: "post_payment",
    voided_at: orNull(seconds, voidedAt),
  });
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
  const { amount, tax = 0n, country = null } = input;
  return from(session, {
    id: input.id,
    amount_subtotal: amount - tax,
    amount_total: amount,
    created: seconds(input.createdAt),
    currency: input.currency.toLowerCase(),
    customer: input.customer ?? null,
    customer_details: { address: address(country), email: null, name: null },
    invoice: input.invoice ?? null,
    livemode: true,
    mode: input.mode,
    payment_intent: input.paymentIntent ?? null,
    payment_status: input.paymentStatus,
    status: "complete",
    subscription: input.subscription ?? null,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: tax },
  });
}
