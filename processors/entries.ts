/**
 * The ledger entries of a payment: what moved, when, and for which SKU. Pure. Rules:
 * `definitions.md`, Ledger and revenue.
 */
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

/** @param sale null while it is not known: then its refunds and disputes stand alone */
export function entriesOf(facts: readonly Fact[], sale: Sale | null): Entry[] {
  return [
    ...(sale === null ? [] : saleEntries(sale)),
    ...refundSteps(facts).flatMap((step) =>
      moneyOut({ ...step, kind: "refund", returns: false }, sale),
    ),
    ...disputesOf(facts).flatMap((dispute) => {
      const { dispute: id, currency, quote, amount, withdrawnAt, returnedAt } = dispute;
      const whole = { currency, quote, before: 0n, after: amount, lines: [], country: null };
      const withdrawn = moneyOut(
        { ...whole, entry: `dispute:${id}`, kind: "dispute", at: withdrawnAt, returns: false },
        sale,
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
        sale,
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

function moneyOut(move: MoneyOut, sale: Sale | null): Entry[] {
  const named = move.lines.length > 0;
  const lines = sale === null || named ? bySku(move.lines) : sale.lines;
  const originals = spread(move.before, move.after, lines, named);
  const amounts = spread(
    baseOf(move.before, move, sale),
    baseOf(move.after, move, sale),
    lines,
    named,
  );
  const sign = move.returns ? 1n : -1n;
  return lines.map((line, index) => ({
    entry: move.entry,
    kind: move.kind,
    external_id: line.external_id,
    currency: move.currency,
    country: sale?.country ?? move.country ?? unknownCountry,
    happened_at: move.at,
    original_amount: sign * (originals[index] ?? 0n),
    amount: sign * (amounts[index] ?? 0n),
    tax: 0n,
    fee: 0n,
    sales: 0,
  }));
}

/**
 * In the sale's currency it is the converted running total, and all of the sale is all of its
 * converted amount, so that a full refund cancels its sale to the cent.
 */
function baseOf(total: bigint, move: MoneyOut, sale: Sale | null): bigint {
  if (sale === null || move.currency !== sale.currency) return inBase(total, move.quote);
  return total === sale.amount ? sale.normalized : inBase(total, sale.quote);
}

/** Spread like the sale, the shares too are differences of running totals. */
function spread(before: bigint, after: bigint, lines: readonly Line[], named: boolean): bigint[] {
  const weights = lines.map((line) => line.weight);
  if (named) return splitByWeight(after - before, weights);
  const sharesBefore = splitByWeight(before, weights);
  return splitByWeight(after, weights).map((share, index) => share - (sharesBefore[index] ?? 0n));
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
