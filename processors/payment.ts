/**
 * A payment as a function of all that is known about it: its ledger entries and the transaction a
 * customer would recognise. Pure. Rules: `definitions.md`, Ledger and Transactions.
 *
 * Facts come in the order of receipt. Each prefix of them is what was known at a moment: the
 * ledger rows recorded with a fact are the entries after it minus the entries before it, so that
 * any past answer can be given again, however the facts happened to be batched.
 */
import { convertMinor, splitByWeight } from "../schemas/money.js";
import type { Fact, Line, Quote } from "../schemas/records.js";
import { disputesOf } from "./disputes.js";
import { newestFirst } from "./readings.js";
import { refundSteps, refundedTotal } from "./refunds.js";

/** One movement of money; `amount`, `tax`, `fee` in minor units of base currency, signed. */
export interface Entry {
  readonly entry: string;
  readonly kind: "sale" | "refund" | "dispute" | "dispute_won";
  readonly external_id: string;
  readonly currency: string;
  readonly country: string;
  readonly happened_at: number;
  readonly amount: bigint;
  readonly tax: bigint;
  readonly fee: bigint;
  readonly sales: number;
}

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

/** ISO 3166's code for a country nobody told. */
const unknownCountry = "ZZ";

/** @param facts of one payment and the purchases linked to it, in order of receipt */
export function paymentState(facts: readonly Fact[]): PaymentState {
  const sale = saleOf(facts);
  if (sale === null) return withoutSale(facts);
  const refunds = refundEntries(facts, sale);
  const disputes = disputesOf(facts);
  return {
    document: documentOf(
      facts,
      sale,
      disputes.some((dispute) => dispute.returnedAt === null),
    ),
    entries: [...saleEntries(sale), ...refunds, ...disputeEntries(disputes, sale)],
  };
}

interface Sale {
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
    normalized: convertMinor(payment.amount, quote.rate, payment.currency, quote.base_currency),
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

function saleEntries(sale: Sale): Entry[] {
  const weights = sale.lines.map((line) => line.weight);
  const amounts = splitByWeight(sale.normalized, weights);
  const taxes = splitByWeight(inBase(sale.tax ?? 0n, sale), weights);
  const fees = splitByWeight(inBase(sale.fee ?? 0n, sale), weights);
  const largest = largestLine(sale.lines);
  return sale.lines.map((line, index) => ({
    ...entryOf("sale", "sale", sale.at, sale, line.external_id),
    amount: amounts[index] ?? 0n,
    tax: taxes[index] ?? 0n,
    fee: fees[index] ?? 0n,
    sales: line === largest ? 1 : 0,
  }));
}

/**
 * Refunds in the sale's currency are differences of the converted running total, so that a full
 * refund cancels its sale to the cent; others are converted by themselves.
 */
function refundEntries(facts: readonly Fact[], sale: Sale): Entry[] {
  const weights = sale.lines.map((line) => line.weight);
  const entries: Entry[] = [];
  for (const step of refundSteps(facts)) {
    const same = step.currency === sale.currency;
    const before = same ? refundedInBase(step.before, sale) : 0n;
    const after = same
      ? refundedInBase(step.after, sale)
      : ownRate(step.after - step.before, step.currency, step.quote);
    const lines = step.lines.length > 0 ? bySku(step.lines) : sale.lines;
    const shares =
      step.lines.length > 0
        ? splitByWeight(
            after - before,
            lines.map((line) => line.weight),
          )
        : minus(splitByWeight(after, weights), splitByWeight(before, weights));
    for (const [index, line] of lines.entries()) {
      entries.push({
        ...entryOf(step.entry, "refund", step.at, sale, line.external_id, step.currency),
        amount: -(shares[index] ?? 0n),
      });
    }
  }
  return entries;
}

function refundedInBase(refunded: bigint, sale: Sale): bigint {
  return refunded === sale.amount ? sale.normalized : inBase(refunded, sale);
}

function disputeEntries(disputes: ReturnType<typeof disputesOf>, sale: Sale): Entry[] {
  const weights = sale.lines.map((line) => line.weight);
  return disputes.flatMap((dispute) => {
    const base =
      dispute.currency === sale.currency
        ? refundedInBase(dispute.amount, sale)
        : ownRate(dispute.amount, dispute.currency, dispute.quote);
    const shares = splitByWeight(base, weights);
    return sale.lines.flatMap((line, index) => {
      const share = shares[index] ?? 0n;
      const withdrawn = {
        ...entryOf(
          `dispute:${dispute.dispute}`,
          "dispute",
          dispute.withdrawnAt,
          sale,
          line.external_id,
          dispute.currency,
        ),
        amount: -share,
      };
      if (dispute.returnedAt === null) return [withdrawn];
      const returned = {
        ...entryOf(
          `dispute_won:${dispute.dispute}`,
          "dispute_won",
          dispute.returnedAt,
          sale,
          line.external_id,
          dispute.currency,
        ),
        amount: share,
      };
      return [withdrawn, returned];
    });
  });
}

function documentOf(facts: readonly Fact[], sale: Sale, disputed: boolean): Document {
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

/** Refunds and disputes whose sale is not known move money at their own day's rate. */
function withoutSale(facts: readonly Fact[]): PaymentState {
  const entries: Entry[] = [];
  for (const step of refundSteps(facts)) {
    const base = ownRate(step.after - step.before, step.currency, step.quote);
    const lines = bySku(step.lines);
    const shares = splitByWeight(
      base,
      lines.map((line) => line.weight),
    );
    for (const [index, line] of lines.entries()) {
      entries.push({
        ...entryOf(step.entry, "refund", step.at, null, line.external_id, step.currency),
        country: step.country ?? unknownCountry,
        amount: -(shares[index] ?? 0n),
      });
    }
  }
  for (const dispute of disputesOf(facts)) {
    const base = ownRate(dispute.amount, dispute.currency, dispute.quote);
    const { currency } = dispute;
    entries.push({
      ...entryOf(`dispute:${dispute.dispute}`, "dispute", dispute.withdrawnAt, null, "", currency),
      amount: -base,
    });
    if (dispute.returnedAt === null) continue;
    entries.push({
      ...entryOf(
        `dispute_won:${dispute.dispute}`,
        "dispute_won",
        dispute.returnedAt,
        null,
        "",
        currency,
      ),
      amount: base,
    });
  }
  return { document: loneRefund(facts), entries };
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
    normalized_amount: ownRate(refund.amount, refund.currency, quote),
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

function entryOf(
  entry: string,
  kind: Entry["kind"],
  happenedAt: number,
  sale: Sale | null,
  externalId: string,
  currency = sale?.currency ?? "",
): Entry {
  return {
    entry,
    kind,
    external_id: externalId,
    currency,
    country: sale?.country ?? unknownCountry,
    happened_at: happenedAt,
    amount: 0n,
    tax: 0n,
    fee: 0n,
    sales: 0,
  };
}

/** Lines of one SKU become one; without any there is one nobody has named. */
function bySku(lines: readonly Line[]): Line[] {
  const weights = new Map<string, bigint>();
  for (const { external_id, weight } of lines) {
    weights.set(external_id, (weights.get(external_id) ?? 0n) + weight);
  }
  if (weights.size === 0) weights.set("", 1n);
  return [...weights].map(([external_id, weight]) => ({ external_id, weight }));
}

function largestLine(lines: readonly Line[]): Line | undefined {
  let largest = lines[0];
  for (const line of lines) if (largest && line.weight > largest.weight) largest = line;
  return largest;
}

function inBase(amount: bigint, sale: Sale): bigint {
  return convertMinor(amount, sale.quote.rate, sale.currency, sale.quote.base_currency);
}

function ownRate(amount: bigint, currency: string, quote: Quote): bigint {
  return convertMinor(amount, quote.rate, currency, quote.base_currency);
}

function minus(one: readonly bigint[], other: readonly bigint[]): bigint[] {
  return one.map((share, index) => share - (other[index] ?? 0n));
}
