/**
 * A payment as a function of all that is known about it: its ledger entries and the transaction a
 * customer would recognise. Pure. Rules: `definitions.md`, Ledger and Transactions.
 */
import type { BodyOf, Fact, Line, Quote } from "../../../schemas/records/records.js";
import { refundedOf } from "../../../schemas/money/money.js";
import { disputesOf, isOpen } from "./disputes.js";
import { unknownCountry } from "../../../schemas/countries.js";
import { inBase, largestLine, type Move, movesOf, type Sale } from "./entries.js";
import { Prefix, addedUp, bySku, type PurchaseBody, sharedOut } from "./invoice-allocation.js";
import { byNewest, paymentsNewestFirst } from "../../normalize/facts.js";
import { withOwnRefunds, refundedTotal, type RefundStep, refundSteps } from "./refunds.js";

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
  /** Null while no payment is known, or its amount is 0. */
  readonly document: Document | null;
  /** Its ledger entries are shares of these. */
  readonly moves: readonly Move[];
}

/**
 * @param payment the provider's id of it
 * @param known facts of the payment and of its purchases, in order of receipt
 */
export function paymentState(payment: string, known: readonly Fact[]): PaymentState {
  return stateOf(new Prefix(payment, known));
}

export function stateOf({ payment, own, purchases, shares }: Prefix): PaymentState {
  const facts = withOwnRefunds(payment, own, shares);
  const payments = reportedPayments(facts);
  const reported = [...payments, ...sharedOut(payment, purchases, shares)];
  const sale = saleOf(facts, reported);
  const lines = sale?.lines ?? linesOf(reported);
  const country = firstReported(reported, (part) => part.country);
  const refunds = refundSteps(facts, sale?.currency ?? null);
  const skus = skusOf([...payments, ...purchases]);
  const disputes = disputesOf(facts);
  const moves = movesOf(refunds, disputes, { sale, country, lines, skus });
  if (sale === null) return { document: loneRefund(facts), moves };
  const refunded = refundedOfSale(sale, refunds, moves);
  return { document: documentOf(sale, refunded, disputes.some(isOpen)), moves };
}

/**
 * Fields that a payment's readings and its purchases share; the first one that has a value counts.
 */
type Part = PaymentBody | PurchaseBody;
type PaymentBody = BodyOf<"Payment">;

/** Newest first, each with the total of the payment. */
function reportedPayments(facts: readonly Fact[]): PaymentBody[] {
  const readings = facts.filter(({ body }) => "Payment" in body);
  const reported = paymentsNewestFirst(readings).flatMap(({ body }) =>
    "Payment" in body ? [body.Payment] : [],
  );
  const amount = addedUp(reported);
  return reported.map((payment) => ({ ...payment, amount }));
}

function firstReported<T>(reported: readonly Part[], read: (part: Part) => T | null): T | null {
  for (const part of reported) {
    const value = read(part);
    if (value !== null) return value;
  }
  return null;
}

function linesOf(reported: readonly Part[]): Line[] {
  return bySku(reported.find((part) => part.lines.length > 0)?.lines ?? []);
}

/** The product of each line by the provider's id of the line. */
function skusOf(reported: readonly Part[]): ReadonlyMap<string, string> {
  const lines = reported.flatMap((part) => part.lines).reverse();
  return new Map(lines.flatMap(({ item, external_id }) => (item ? [[item, external_id]] : [])));
}

function saleOf(facts: readonly Fact[], reported: readonly Part[]): Sale | null {
  const payment = reported.find((part) => "payment" in part);
  // Time and rate of the first reading stay, because a transaction's timestamp never changes (an
  // order and its invoice may differ by seconds).
  const first = facts.find(({ body }) => "Payment" in body);
  if (payment === undefined || payment.amount <= 0n) return null;
  if (first === undefined || !("Payment" in first.body) || !first.quote) return null;
  const quote = quoteOf(facts, payment.currency) ?? first.quote;
  return {
    at: first.body.Payment.at,
    amount: payment.amount,
    normalized: inBase(payment.amount, quote),
    currency: payment.currency,
    quote,
    country: firstReported(reported, (part) => part.country) ?? unknownCountry,
    account: firstReported(reported, (part) => part.account) ?? "",
    type: reported.some((part) => part.type === "subscription") ? "subscription" : "one_time",
    tax: firstReported(reported, (part) => part.tax),
    fee: firstReported(reported, (part) => part.fee),
    lines: linesOf(reported),
  };
}

/** If the currency changed later, the first reading in the new one decides. */
function quoteOf(facts: readonly Fact[], currency: string): Quote | null {
  const reported = facts.find(
    ({ body, quote }) => "Payment" in body && quote?.currency === currency,
  );
  return reported?.quote ?? null;
}

function documentOf(sale: Sale, refunded: bigint, disputed: boolean): Document {
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

function refundedOfSale(
  { amount, normalized, currency, quote }: Sale,
  refunds: readonly RefundStep[],
  moves: readonly Move[],
): bigint {
  const others = moves
    .filter((move) => move.kind === "refund" && move.currency !== currency)
    .reduce((sum, move) => sum + move.amount.to - move.amount.from, 0n);
  const money = { amount, normalized, currency, base: quote.base_currency, rate: quote.rate };
  return refundedOf(money, refundedTotal(refunds, currency), others);
}

function loneRefund(facts: readonly Fact[]): Document | null {
  const [fact] = facts.filter(({ body }) => "Refund" in body).sort(byNewest);
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
