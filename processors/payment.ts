/**
 * A payment as a function of all that is known about it: its ledger entries and the transaction a
 * customer would recognise. Pure. Rules: `definitions.md`, Ledger and Transactions.
 *
 * Facts come in the order of receipt. Each prefix of them is what was known at a moment: the
 * ledger rows recorded with a fact are the entries after it minus the entries before it, so that
 * any past answer can be given again, however the facts happened to be batched.
 */
import type { Fact, Line, Quote } from "../schemas/records.js";
import { disputesOf } from "./disputes.js";
import { bySku, type Entry, entriesOf, inBase, largestLine, unknownCountry } from "./entries.js";
import { newestFirst } from "./readings.js";
import { refundedTotal } from "./refunds.js";

/** Amounts in minor units: `normalized_amount` of base, the others of the original currency. */
export interface Document {
  readonly timestamp: number;
  readonly account: string;
  readonly external_id: string;
  readonly gross_amount: bigint;
  readonly original_currency: string;
  readonly normalized_amount: bigint;
  readonly base_currency: string;
  readonly fx_rate: string;
  readonly fx_date: string;
  readonly fx_source: string;
  readonly refunded_amount: bigint;
  readonly tax_amount: bigint | null;
  readonly fee_amount: bigint | null;
  readonly customer_country: string;
  readonly type: "subscription" | "one_time" | "refund";
  readonly status: "succeeded" | "refunded" | "disputed";
}

export interface PaymentState {
  /** Null while no payment is known, or it is of nothing. */
  readonly document: Document | null;
  readonly entries: readonly Entry[];
}

/** @param facts of one payment and the purchases linked to it, in order of receipt */
export function paymentState(facts: readonly Fact[]): PaymentState {
  const sale = saleOf(facts);
  const entries = entriesOf(facts, sale);
  return { document: sale === null ? loneRefund(facts) : documentOf(facts, sale), entries };
}

/** What was paid and what for, as far as it is known. */
export interface Sale {
  readonly at: number;
  readonly amount: bigint;
  readonly normalized: bigint;
  readonly currency: string;
  readonly quote: Quote;
  readonly country: string;
  readonly account: string;
  readonly type: "subscription" | "one_time";
  readonly tax: bigint | null;
  readonly fee: bigint | null;
  /** One for each SKU. */
  readonly lines: readonly Line[];
}

function saleOf(facts: readonly Fact[]): Sale | null {
  const readings = newestFirst(facts.filter((fact) => "Payment" in fact.body));
  const newest = readings[0];
  // The rate of the first reading stays: converted once and for good.
  const quote = facts.find((fact) => "Payment" in fact.body)?.quote;
  if (newest === undefined || !("Payment" in newest.body) || !quote) return null;
  const payment = newest.body.Payment;
  if (payment.amount <= 0n) return null;
  const told = [
    ...readings.flatMap(({ body }) => ("Payment" in body ? [body.Payment] : [])),
    ...purchasesOf(facts),
  ];
  const first = <T>(read: (part: (typeof told)[number]) => T | null): T | null => {
    for (const part of told) {
      const value = read(part);
      if (value !== null) return value;
    }
    return null;
  };
  const lines = told.find((part) => part.lines.length > 0)?.lines ?? [];
  return {
    at: payment.at,
    amount: payment.amount,
    normalized: inBase(payment.amount, quote),
    currency: payment.currency,
    quote,
    country: first((part) => part.country) ?? unknownCountry,
    account: first((part) => part.account) ?? "",
    type: told.some((part) => part.type === "subscription") ? "subscription" : "one_time",
    tax: first((part) => part.tax),
    fee: first((part) => part.fee),
    lines: bySku(lines),
  };
}

/** The newest reading of each purchase linked here; those that name products come first. */
function purchasesOf(facts: readonly Fact[]) {
  const newest = new Map<string, { fact: Fact; lines: number }>();
  for (const fact of newestFirst(facts)) {
    if (!("Purchase" in fact.body)) continue;
    const { purchase, lines } = fact.body.Purchase;
    if (!newest.has(purchase)) newest.set(purchase, { fact, lines: lines.length });
  }
  return [...newest.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .sort(([, one], [, other]) => other.lines - one.lines)
    .flatMap(([, { fact }]) => ("Purchase" in fact.body ? [fact.body.Purchase] : []));
}

function documentOf(facts: readonly Fact[], sale: Sale): Document {
  const disputed = disputesOf(facts).some((dispute) => dispute.returnedAt === null);
  const refunded = refundedTotal(facts, sale.currency);
  return {
    timestamp: sale.at,
    account: sale.account,
    external_id: largestLine(sale.lines)?.external_id ?? "",
    gross_amount: sale.amount,
    original_currency: sale.currency,
    normalized_amount: sale.normalized,
    base_currency: sale.quote.base_currency,
    fx_rate: sale.quote.rate,
    fx_date: sale.quote.date,
    fx_source: sale.quote.source,
    refunded_amount: refunded,
    tax_amount: sale.tax,
    fee_amount: sale.fee,
    customer_country: sale.country,
    type: sale.type,
    status: disputed ? "disputed" : refunded >= sale.amount ? "refunded" : "succeeded",
  };
}

/** A refund that names no sale is a transaction of its own. */
function loneRefund(facts: readonly Fact[]): Document | null {
  const [fact] = newestFirst(facts.filter(({ body }) => "Refund" in body));
  if (fact === undefined || !("Refund" in fact.body) || !fact.quote) return null;
  const refund = fact.body.Refund;
  if (refund.payment !== null || refund.failed_at !== null || refund.amount <= 0n) return null;
  const { quote } = fact;
  return {
    timestamp: refund.at,
    account: refund.account ?? "",
    external_id: largestLine(bySku(refund.lines))?.external_id ?? "",
    gross_amount: refund.amount,
    original_currency: refund.currency,
    normalized_amount: inBase(refund.amount, quote),
    base_currency: quote.base_currency,
    fx_rate: quote.rate,
    fx_date: quote.date,
    fx_source: quote.source,
    refunded_amount: refund.amount,
    tax_amount: null,
    fee_amount: null,
    customer_country: refund.country ?? unknownCountry,
    type: "refund",
    status: "refunded",
  };
}
