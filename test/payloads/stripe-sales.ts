/** Sales at Stripe as its API lists them, in euros; sessions of its checkout, and credit notes. */
import { fixture, from, type JsonObject, orNull, seconds, sent } from "../../ops/payloads/json.js";
import {
  address,
  chargeObject,
  invoiceObject,
  invoicePaymentObject,
  taxesOf,
  withFee,
} from "../../ops/payloads/stripe-money.js";
import { priceObject, subscriptionObject } from "../../ops/payloads/stripe.js";

const session = fixture("stripe", "checkout.session.completed.new", "data", "object");

/** With its fee. @param name the charge is `ch_…`, its payment `pi_…`, its customer `cus_…` */
export function paidCharge(
  name: string,
  createdAt: number,
  { amount = 1000n, fee = 54 }: { readonly amount?: bigint; readonly fee?: number } = {},
): JsonObject {
  const ids = { id: `ch_${name}`, paymentIntent: `pi_${name}`, customer: `cus_${name}` };
  return withFee(chargeObject({ ...ids, amount, currency: "eur", createdAt }), fee);
}

/** A subscription of ten euros a month, and what paid for the first of them. */
export function soldMonth(
  name: string,
  createdAt: number,
  given: { readonly product: string; readonly country?: string; readonly outOfBand?: boolean },
) {
  const { product, ...more } = given;
  const shared = { customer: `cus_${name}`, currency: "eur", createdAt } as const;
  const [subscription, invoice] = [`sub_${name}`, `in_${name}`];
  const sku = { product: `prod_${product}`, price: `price_${product}` };
  const price = priceObject({
    id: sku.price,
    product: sku.product,
    currency: "eur",
    unitAmount: 1000n,
  });
  return {
    subscription: subscriptionObject({
      ...shared,
      id: subscription,
      status: "active",
      items: [{ id: `si_${name}`, quantity: 1, price }],
    }),
    invoice: invoiceObject({
      ...shared,
      ...more,
      id: invoice,
      paidAt: createdAt,
      subscription,
      lines: [{ ...sku, id: `il_${name}`, amount: 1000n, subscription }],
    }),
    paid: invoicePaymentObject({
      id: `inpay_${name}`,
      invoice,
      payment: `pi_${name}`,
      amount: 1000n,
      currency: "eur",
      paidAt: createdAt,
    }),
    charge: paidCharge(name, createdAt),
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
