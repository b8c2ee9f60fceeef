/**
 * The ledger entries of a payment: what moved, when, and for which SKU. Pure. Rules:
 * `definitions.md`, Ledger and revenue.
 */
import { divideRounded } from "../schemas/decimal.js";
import { convertMinor, splitByWeight } from "../schemas/money.js";
import type { Fact, Line, Quote } from "../schemas/records.js";
import { disputesOf, type Withdrawn } from "./disputes.js";
import type { Sale } from "./payment.js";
import { returnedTaxes, type Span, type TaxedSale } from "./refund-taxes.js";
import type { RefundStep } from "./refunds.js";

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

/**
 * One movement of a payment as a whole: its entries are its shares of the lines. Running totals go
 * from one value to another; a share is the difference of two.
 */
export interface Move {
  /** Unique within the payment. */
  readonly entry: string;
  readonly kind: Entry["kind"];
  readonly currency: string;
  readonly country: string;
  readonly at: number;
  /** Of `currency`; the others are of base. All in minor units. */
  readonly original: Span;
  readonly amount: Span;
  readonly tax: Span;
  readonly fee: Span;
  readonly sales: 0 | 1;
  /** Money that goes out. */
  readonly isOut: boolean;
  /** One for each SKU. */
  readonly lines: readonly Line[];
}

export function movesOf(
  facts: readonly Fact[],
  steps: readonly RefundStep[],
  known: Known,
): Move[] {
  const { sale } = known;
  return [
    ...(sale === null ? [] : [saleMove(sale)]),
    ...refundMoves(steps, known),
    ...disputesOf(facts).flatMap((dispute) => disputeMoves(dispute, known)),
  ];
}

/** One entry for each line. */
export function entriesOf(move: Move): Entry[] {
  const { entry, kind, currency, country, lines, at } = move;
  const weights = lines.map((line) => line.weight);
  const sign = move.isOut ? -1n : 1n;
  const shares = ({ from, to }: Span): bigint[] => {
    if (from === to) return weights.map(() => 0n);
    const before = splitByWeight(from, weights);
    return splitByWeight(to, weights).map((share, index) => sign * (share - (before[index] ?? 0n)));
  };
  const [originals, amounts, taxes, fees] = [move.original, move.amount, move.tax, move.fee].map(
    shares,
  );
  const largest = largestLine(lines);
  return lines.map((line, index) => ({
    entry,
    kind,
    external_id: line.external_id,
    currency,
    country,
    happened_at: at,
    original_amount: originals?.[index] ?? 0n,
    amount: amounts?.[index] ?? 0n,
    tax: taxes?.[index] ?? 0n,
    fee: fees?.[index] ?? 0n,
    sales: line === largest ? move.sales : 0,
  }));
}

function saleMove(sale: Sale): Move {
  return {
    entry: "sale",
    kind: "sale",
    currency: sale.currency,
    country: sale.country,
    at: sale.at,
    original: upTo(sale.amount),
    amount: upTo(sale.normalized),
    tax: upTo(inBase(sale.tax ?? 0n, sale.quote)),
    fee: upTo(inBase(sale.fee ?? 0n, sale.quote)),
    sales: 1,
    isOut: false,
    lines: sale.lines,
  };
}

function refundMoves(steps: readonly RefundStep[], known: Known): Move[] {
  const { sale } = known;
  const inSale = sale === null ? new Map<RefundStep, Sums>() : sumsInSale(steps, sale);
  return steps.map((step) => {
    const { told, before, after } = step;
    const own = (): Sums => atOwnRate(after - before, step.tax, told.quote);
    const { original, amount, tax } = inSale.get(step) ?? own();
    // What names its lines is split by them alone, whatever was refunded before.
    const isNamed = told.lines.length > 0;
    return {
      entry: told.entry,
      kind: "refund",
      currency: told.currency,
      country: known.country ?? told.country ?? unknownCountry,
      at: told.at,
      original: isNamed ? alone(original) : original,
      amount: isNamed ? alone(amount) : amount,
      tax: isNamed ? alone(tax) : tax,
      fee: nothing,
      sales: 0,
      isOut: true,
      lines: isNamed ? bySku(told.lines.map((line) => withSku(line, known.skus))) : known.lines,
    };
  });
}

type Sums = Pick<Move, "original" | "amount" | "tax">;

/** Steps in the sale's currency are converted at its rate, as running totals. */
function sumsInSale(steps: readonly RefundStep[], sale: Sale): Map<RefundStep, Sums> {
  const own = steps.filter(({ told }) => told.currency === sale.currency);
  const taxes = returnedTaxes(own, taxedSale(sale));
  const sums = new Map<RefundStep, Sums>();
  let from = 0n;
  for (const [index, step] of own.entries()) {
    const amount = { from, to: atSaleRate(step.after, sale) };
    const original = { from: step.before, to: step.after };
    sums.set(step, { original, amount, tax: taxes[index] ?? nothing });
    from = amount.to;
  }
  return sums;
}

function disputeMoves(dispute: Withdrawn, known: Known): Move[] {
  const { dispute: id, currency, quote, amount, withdrawnAt, returnedAt } = dispute;
  const { sale } = known;
  const sums =
    sale === null || currency !== sale.currency
      ? atOwnRate(amount, null, quote)
      : {
          original: upTo(amount),
          amount: upTo(atSaleRate(amount, sale)),
          tax: upTo(taxWithin(amount, sale)),
        };
  const move = (entry: string, kind: Move["kind"], at: number): Move => ({
    entry,
    kind,
    currency,
    country: known.country ?? unknownCountry,
    at,
    ...sums,
    fee: nothing,
    sales: 0,
    isOut: kind === "dispute",
    lines: known.lines,
  });
  const withdrawn = move(`dispute:${id}`, "dispute", withdrawnAt);
  if (returnedAt === null) return [withdrawn];
  return [withdrawn, move(`dispute_won:${id}`, "dispute_won", returnedAt)];
}

/**
 * Converted by itself, at its own day's rate: its sale is unknown, or in another currency.
 * @param tax as told; null: nobody tells the tax in it
 */
function atOwnRate(amount: bigint, tax: bigint | null, quote: Quote): Sums {
  return {
    original: upTo(amount),
    amount: upTo(inBase(amount, quote)),
    tax: tax === null ? nothing : upTo(inBase(tax, quote)),
  };
}

/** In the sale's currency a full refund cancels it to the cent. */
function atSaleRate(amount: bigint, sale: Sale): bigint {
  return amount === sale.amount ? sale.normalized : inBase(amount, sale.quote);
}

/** As much of the tax as of the sale, and no more than there was. */
function taxWithin(amount: bigint, sale: Sale): bigint {
  const { taxInBase } = taxedSale(sale);
  return amount >= sale.amount ? taxInBase : divideRounded(taxInBase * amount, sale.amount);
}

function taxedSale({ amount, tax, quote }: Sale): TaxedSale {
  return { amount, tax: tax ?? 0n, taxInBase: inBase(tax ?? 0n, quote) };
}

const nothing: Span = { from: 0n, to: 0n };

function alone({ from, to }: Span): Span {
  return upTo(to - from);
}

function upTo(to: bigint): Span {
  return { from: 0n, to };
}

function withSku(line: Line, skus: ReadonlyMap<string, string>): Line {
  if (line.external_id !== "" || !line.item) return line;
  return { ...line, external_id: skus.get(line.item) ?? "" };
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
