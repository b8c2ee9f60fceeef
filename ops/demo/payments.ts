/** A payment as Stripe reports it: several events, in either layout, and what may become of it. */
import { isNewLayout } from "../payloads/stripe.js";
import {
  chargeObject,
  disputeObject,
  invoiceObject,
  type InvoiceLineInput,
  invoicePaymentObject,
  refundObject,
} from "../payloads/stripe-money.js";
import { workshop } from "./catalogue.js";
import type { Customer } from "./customer.js";

/** One line of an invoice; minor units. */
export interface Line {
  readonly product: string;
  readonly price: string;
  readonly quantity: number;
  /** Before the discount; negative for the credited rest of a period. */
  readonly amount: bigint;
  readonly discount: bigint;
}

export interface Sale {
  /** ms since 1970 */
  readonly at: number;
  readonly lines: readonly Line[];
  /** Null: bought once. */
  readonly subscription: string | null;
  readonly reason: "subscription_create" | "subscription_cycle" | "subscription_update" | "manual";
}

export interface Payment {
  readonly at: number;
  readonly charge: string;
  readonly paymentIntent: string;
  readonly invoice: string;
  readonly amount: bigint;
  refunded: bigint;
}

/** @returns null when there is nothing to pay, or it would lie after the end */
export function emitSale(customer: Customer, sale: Sale): Payment | null {
  const { at, lines, subscription, reason } = sale;
  const { currency, country, version, journal } = customer;
  const amount = lines.reduce((sum, line) => sum + line.amount - line.discount, 0n);
  if (amount <= 0n || journal.isOver(at)) return null;
  const payment: Payment = {
    at,
    charge: customer.newId("ch"),
    paymentIntent: customer.newId("pi"),
    invoice: customer.newId("in"),
    amount,
    refunded: 0n,
  };
  const { charge, paymentIntent, invoice } = payment;
  journal.book(at, currency, (sold) => {
    sold.payments += 1;
    sold.gross += amount;
  });

  emitCharge(customer, payment, "charge.succeeded", at);
  const object = invoiceObject({
    id: invoice,
    customer: customer.id,
    currency,
    createdAt: at,
    paidAt: at,
    lines: lines.map((line, index) => lineOf(line, `il_${invoice}_${index}`, subscription)),
    version,
    subscription,
    billingReason: reason,
    country,
    paymentIntent,
    charge,
  });
  customer.report("invoice.paid", at, object);
  customer.report("invoice.payment_succeeded", at, object);
  if (isNewLayout(version)) {
    const id = customer.newId("inpay");
    const paid = { id, invoice, payment: paymentIntent, amount, currency, paidAt: at };
    customer.report("invoice_payment.paid", at, invoicePaymentObject(paid));
  }
  return payment;
}

export function emitWorkshop(customer: Customer, at: number): Payment | null {
  const { product, price } = workshop;
  const amount = price[customer.currency];
  const line = { product, price: `price_${product}`, quantity: 1, amount, discount: 0n };
  return emitSale(customer, { at, lines: [line], subscription: null, reason: "manual" });
}

/** @param amount minor units; no more than what is left of the payment */
export function emitRefund(customer: Customer, payment: Payment, at: number, amount: bigint): void {
  const { currency, version, journal } = customer;
  if (amount <= 0n || journal.isOver(at)) return;
  payment.refunded += amount;
  if (payment.refunded > payment.amount) throw new Error("more refunded than paid");
  journal.book(at, currency, (sold) => (sold.refunded += amount));
  const { charge, paymentIntent } = payment;
  const id = customer.newId("re");
  const refund = refundObject({ id, charge, paymentIntent, amount, currency, createdAt: at });
  // The old layout's events of refunds were few; its charges report them.
  if (isNewLayout(version)) customer.report("refund.created", at, refund);
  emitCharge(customer, payment, "charge.refunded", at);
}

/** @param closed null: not decided yet */
export function emitDispute(
  customer: Customer,
  payment: Payment,
  at: number,
  closed: { readonly at: number; readonly isWon: boolean } | null,
): void {
  const { currency, journal } = customer;
  const { charge, paymentIntent, amount } = payment;
  const id = customer.newId("du");
  const dispute = { id, charge, paymentIntent, amount, currency, createdAt: at, withdrawnAt: at };
  const open = disputeObject({ ...dispute, status: "needs_response" });
  customer.report("charge.dispute.created", at, open);
  customer.report("charge.dispute.funds_withdrawn", at, open);
  journal.book(at, currency, (sold) => (sold.disputes += 1));
  if (closed === null) return;
  if (!closed.isWon) {
    const lost = disputeObject({ ...dispute, status: "lost" });
    customer.report("charge.dispute.closed", closed.at, lost);
    return;
  }
  const won = disputeObject({ ...dispute, status: "won", returnedAt: closed.at });
  customer.report("charge.dispute.closed", closed.at, won);
  customer.report("charge.dispute.funds_reinstated", closed.at, won);
  journal.book(closed.at, currency, (sold) => (sold.disputes -= 1));
}

function emitCharge(customer: Customer, payment: Payment, type: string, at: number): void {
  const object = chargeObject({
    id: payment.charge,
    paymentIntent: payment.paymentIntent,
    customer: customer.id,
    amount: payment.amount,
    currency: customer.currency,
    createdAt: payment.at,
    version: customer.version,
    country: customer.country,
    invoice: payment.invoice,
    amountRefunded: payment.refunded,
  });
  customer.report(type, at, object);
}

function lineOf(line: Line, id: string, subscription: string | null): InvoiceLineInput {
  return { ...line, id, ...(subscription === null ? {} : { subscription }) };
}
