/**
 * The ledger entries of a payment: what moved, when, and for which SKU. Pure. Rules:
 * `definitions.md`, Ledger and revenue.
 */
import { divideRounded } from "../schemas/decimal.js";
import { convertMinor, splitByWeight } from "../schemas/money.js";
import type { Fact, Line, Quote } from "../schemas/records.js";
import { disputesOf } from "./disputes.js";
import type { Sale } from "./payment.js";
import { refundSteps } from "./refunds.js";

/**
 * One movement of money, signed: `original_amount` in minor units of `currency`; `amount`, `tax`
 * and `fee` in minor units of base currency.
 */
export interface Entry {
  readonly entry: string;
  readonly kind: "sale" | "refund" | "dispute" | "dispute_won";
  readonly external_id: string;
  readonly currency: string;
  readonly country: string;
  readonly happened_at: number;
  readonly original_amount: bigint;
  readonly amount: bigint;
  readonly tax: bigint;
  readonly fee: bigint;
  readonly sales: number;
}

/** ISO 3166's code for a country nobody told. */
export const unknownCountry = "ZZ";

/** What is known of the payment its refunds and disputes belong to. */
export interface Known {
  /** Null while it was not told: they stand alone then, at their own rates. */
  readonly sale: Sale | null;
  /** One for each SKU; a purchase may tell them before the sale comes. */
  readonly lines: readonly Line[];
  /** Products by the provider's ids of the lines, which refunds may name instead. */
  readonly skus: ReadonlyMap<string, string>;
  readonly country: string | null;
}

export function entriesOf(facts: readonly Fact[], known: Known): Entry[] {
  return [
    ...(known.sale === null ? [] : saleEntries(known.sale)),
    ...refundSteps(facts).flatMap((step) =>
      moneyOut({ ...step, kind: "refund", returns: false }, known),
    ),
    ...disputesOf(facts).flatMap((dispute) => {
      const { dispute: id, currency, quote, amount, withdrawnAt, returnedAt } = dispute;
      const whole = { currency, quote, before: 0n, after: amount, lines: [], country: null };
      const withdrawn = moneyOut(
        { ...whole, entry: `dispute:${id}`, kind: "dispute", at: withdrawnAt, returns: false },
        known,
      );
      if (returnedAt === null) return withdrawn;
      const returned = moneyOut(
        {
          ...whole,
          entry: `dispute_won:${id}`,
          kind: "dispute_won",
          at: returnedAt,
          returns: true,
        },
        known,
      );
      return [...withdrawn, ...returned];
    }),
  ];
}

function saleEntries(sale: Sale): Entry[] {
  const weights = sale.lines.map((line) => line.weight);
  const originals = splitByWeight(sale.amount, weights);
  const amounts = splitByWeight(sale.normalized, weights);
  const taxes = splitByWeight(inBase(sale.tax ?? 0n, sale.quote), weights);
  const fees = splitByWeight(inBase(sale.fee ?? 0n, sale.quote), weights);
  const largest = largestLine(sale.lines);
  return sale.lines.map((line, index) => ({
    entry: "sale",
    kind: "sale",
    external_id: line.external_id,
    currency: sale.currency,
    country: sale.country,
    happened_at: sale.at,
    original_amount: originals[index] ?? 0n,
    amount: amounts[index] ?? 0n,
    tax: taxes[index] ?? 0n,
    fee: fees[index] ?? 0n,
    sales: line === largest ? 1 : 0,
  }));
}

/** The running total of what went out goes from `before` to `after`, minor units of `currency`. */
interface MoneyOut {
  readonly entry: string;
  readonly kind: Entry["kind"];
  readonly at: number;
  readonly currency: string;
  readonly before: bigint;
  readonly after: bigint;
  /** Of the fact that told it, for when the sale's rate does not apply. */
  readonly quote: Quote;
  /** The lines it names; empty: spread like the sale. */
  readonly lines: readonly Line[];
  readonly country: string | null;
  /** The money came back. */
  readonly returns: boolean;
}

function moneyOut(move: MoneyOut, known: Known): Entry[] {
  const named = move.lines.length > 0;
  const lines = named ? bySku(move.lines.map((line) => withSku(line, known.skus))) : known.lines;
  const { originals, amounts, taxes } = sharesOf(move, lines, named, known.sale);
  const sign = move.returns ? 1n : -1n;
  return lines.map((line, index) => ({
    entry: move.entry,
    kind: move.kind,
    external_id: line.external_id,
    currency: move.currency,
    country: known.country ?? move.country ?? unknownCountry,
    happened_at: move.at,
    original_amount: sign * (originals[index] ?? 0n),
    amount: sign * (amounts[index] ?? 0n),
    tax: sign * (taxes[index] ?? 0n),
    fee: 0n,
    sales: 0,
  }));
}

function withSku(line: Line, skus: ReadonlyMap<string, string>): Line {
  if (line.external_id !== "" || !line.item) return line;
  return { ...line, external_id: skus.get(line.item) ?? "" };
}

/**
 * In the sale's currency shares are differences of running totals, converted at the sale's rate
 * and spread like the sale, so that a full refund cancels it to the cent, its tax too. All else is
 * converted by itself, at its own day's rate, and nobody tells the tax in it.
 */
function sharesOf(
  { before, after, currency, quote }: MoneyOut,
  lines: readonly Line[],
  named: boolean,
  sale: Sale | null,
): { originals: bigint[]; amounts: bigint[]; taxes: bigint[] } {
  const weights = lines.map((line) => line.weight);
  const difference = (from: bigint, to: bigint): bigint[] => {
    if (named) return splitByWeight(to - from, weights);
    const sharesBefore = splitByWeight(from, weights);
    return splitByWeight(to, weights).map((share, index) => share - (sharesBefore[index] ?? 0n));
  };
  if (sale === null || currency !== sale.currency) {
    return {
      originals: splitByWeight(after - before, weights),
      amounts: splitByWeight(inBase(after - before, quote), weights),
      taxes: [],
    };
  }
  const converted = (total: bigint): bigint =>
    total === sale.amount ? sale.normalized : inBase(total, sale.quote);
  const tax = inBase(sale.tax ?? 0n, sale.quote);
  const taxIn = (total: bigint): bigint => divideRounded(tax * total, sale.amount);
  return {
    originals: difference(before, after),
    amounts: difference(converted(before), converted(after)),
    taxes: difference(taxIn(before), taxIn(after)),
  };
}

/** Lines of one SKU become one; without any there is one nobody has named. */
export function bySku(lines: readonly Line[]): Line[] {
  const weights = new Map<string, bigint>();
  for (const { external_id, weight } of lines) {
    weights.set(external_id, (weights.get(external_id) ?? 0n) + weight);
  }
  if (weights.size === 0) weights.set("", 1n);
  return [...weights].map(([external_id, weight]) => ({ external_id, weight }));
}

export function largestLine(lines: readonly Line[]): Line | undefined {
  let largest = lines[0];
  for (const line of lines) if (largest && line.weight > largest.weight) largest = line;
  return largest;
}

export function inBase(amount: bigint, quote: Quote): bigint {
  return convertMinor(amount, quote.rate, quote.currency, quote.base_currency);
}
