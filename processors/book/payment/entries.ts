/**
 * The ledger entries of a payment: what moved, when, and for which SKU. Pure. Rules:
 * `definitions.md`, Ledger and revenue.
 */
import { unknownCountry } from "../../../schemas/countries.js";
import { convertMinor, divideRounded, splitByWeight } from "../../../schemas/money/money.js";
import type { Line, Quote } from "../../../schemas/records/records.js";
import type { Withdrawn } from "./disputes.js";
import {
  returnedTaxes,
  type Span,
  type Measure,
  type Named,
  NamedLines,
  partsBy,
  SoldLines,
} from "./refund-allocation.js";
import type { RefundStep } from "./refunds.js";
import { bySku } from "./invoice-allocation.js";

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
  readonly lines: readonly Line[];
}

export interface Known {
  /** Null until it is reported: refunds and disputes then stand alone, at their own rates. */
  readonly sale: Sale | null;
  /** One for each SKU; a purchase may report them before the sale. */
  readonly lines: readonly Line[];
  /** Products by the provider's ids of the lines, which refunds may name instead. */
  readonly skus: ReadonlyMap<string, string>;
  readonly country: string | null;
}

/**
 * A movement of the payment as a whole, of which each line has a share. A share is the difference
 * of two running totals.
 */
export interface Move {
  readonly entry: string;
  readonly kind: Entry["kind"];
  readonly currency: string;
  readonly country: string;
  readonly at: number;
  /** `original` is in `currency`, the others in base; minor units. */
  readonly original: Span;
  readonly amount: Span;
  readonly tax: Span;
  readonly fee: Span;
  readonly sales: 0 | 1;
  readonly isOut: boolean;
  readonly lines: readonly Line[];
  /** Null: it is split over `lines` by weight. */
  readonly returned: Returned | null;
}

/** What a sale's lines give back, and what was named of them, before and after. */
export interface Returned {
  readonly sold: SoldLines;
  readonly from: Named;
  readonly to: Named;
}

export function movesOf(
  steps: readonly RefundStep[],
  disputes: readonly Withdrawn[],
  known: Known,
): Move[] {
  const { sale } = known;
  const outs = outsOf(steps, disputes);
  if (sale === null) return outs.map((out) => outMove(out, atOwnRate(out), known));
  const sold = saleMove(sale);
  const inSale = sumsInSale(outs, sale);
  const lines = new SoldLines(
    partsBy((measure) => sold[measure].to),
    sale.lines,
  );
  const named = new NamedLines();
  const moves = outs.map((out) => {
    const sums = inSale.get(out);
    if (sums === undefined) return outMove(out, atOwnRate(out), known);
    return saleOutMove(out, sums, known, lines, named);
  });
  return [sold, ...moves];
}

export function entriesOf(move: Move): Entry[] {
  const { entry, kind, currency, country, at } = move;
  const lines = linesOf(move);
  const shares = (measure: Measure | "fee"): bigint[] => sharesOf(move, measure, lines);
  const [originals, amounts, taxes, fees] = [
    shares("original"),
    shares("amount"),
    shares("tax"),
    shares("fee"),
  ];
  const largest = largestLine(lines);
  const entries = lines.map((line, index) => ({
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
  return entries.filter(movesMoney);
}

export function movesMoney({ original_amount, amount, tax, fee, sales }: Entry): boolean {
  return original_amount !== 0n || amount !== 0n || tax !== 0n || fee !== 0n || sales !== 0;
}

/** The lines of the sale, then others that were named. */
function linesOf({ lines, returned }: Move): readonly Line[] {
  if (returned === null || (returned.from.size === 0 && returned.to.size === 0)) return lines;
  const known = new Set(lines.map((line) => line.external_id));
  const named = new Set([...returned.from.keys(), ...returned.to.keys()]);
  const others = [...named].filter((sku) => !known.has(sku));
  return [...lines, ...others.map((external_id) => ({ external_id, weight: 0n }))];
}

function sharesOf(move: Move, measure: Measure | "fee", lines: readonly Line[]): bigint[] {
  const { [measure]: span, returned } = move;
  const isSameNamed = returned === null || returned.from === returned.to;
  if (span.from === span.to && isSameNamed) return lines.map(() => 0n);
  const skus = lines.map((line) => line.external_id);
  const weights = lines.map((line) => line.weight);
  const sharesAt = (place: "from" | "to"): bigint[] =>
    returned === null || measure === "fee"
      ? splitByWeight(span[place], weights)
      : returned.sold.returned(measure, span[place], returned[place], skus);
  const before = sharesAt("from");
  const sign = move.isOut ? -1n : 1n;
  return sharesAt("to").map((share, index) => sign * (share - (before[index] ?? 0n)));
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
    returned: null,
  };
}

/** A step of a refund, or of a dispute. */
interface MoneyOut {
  readonly entry: string;
  readonly kind: Entry["kind"];
  readonly at: number;
  readonly currency: string;
  /** Minor units of `currency`; negative when it comes back. */
  readonly amount: bigint;
  /** Within `amount`, with its sign; null: not reported. */
  readonly tax: bigint | null;
  /** The entry that it undoes. */
  readonly undoes: string | null;
  readonly quote: Quote;
  /** The lines it names; empty: it is spread like the sale. */
  readonly lines: readonly Line[];
  readonly country: string | null;
}

function outsOf(steps: readonly RefundStep[], disputes: readonly Withdrawn[]): MoneyOut[] {
  const refunds = steps.map(({ reported, before, after, tax }): MoneyOut => {
    const { entry, at, currency, undoes, quote, lines, country } = reported;
    const amount = after - before;
    return { entry, kind: "refund", at, currency, amount, tax, undoes, quote, lines, country };
  });
  if (disputes.length === 0) return refunds;
  return [...refunds, ...disputes.flatMap(disputeOuts)].sort(
    (one, other) => one.at - other.at || (one.entry < other.entry ? -1 : 1),
  );
}

function disputeOuts(dispute: Withdrawn): MoneyOut[] {
  const { dispute: id, withdrawnAt, returns, ...money } = dispute;
  const { amount, tax } = money;
  const entry = `dispute:${id}`;
  const nowhere = { undoes: null, country: null };
  const withdrawn = { ...money, ...nowhere, entry, kind: "dispute", at: withdrawnAt } as const;
  let left = { amount, tax: tax ?? 0n };
  const won = returns.map((back, index): MoneyOut => {
    const taxBack = divideRounded(left.tax * back.amount, left.amount);
    left = { amount: left.amount - back.amount, tax: left.tax - taxBack };
    return {
      ...withdrawn,
      entry: index === 0 ? `dispute_won:${id}` : `dispute_won:${id}:${index + 1}`,
      kind: "dispute_won",
      at: back.at,
      amount: -back.amount,
      tax: tax === null ? null : -taxBack,
      undoes: entry,
    };
  });
  return [withdrawn, ...won];
}

type Sums = Pick<Move, "original" | "amount" | "tax">;

/**
 * What goes out in the sale's currency is converted at the sale's rate, as one running total, so
 * that not a cent is left once all of the sale has been returned.
 */
function sumsInSale(outs: readonly MoneyOut[], sale: Sale): Map<MoneyOut, Sums> {
  const own = outs.filter(({ currency }) => currency === sale.currency);
  const tax = sale.tax ?? 0n;
  const taxInBase = inBase(tax, sale.quote);
  const taxes = returnedTaxes(own, { amount: sale.amount, tax, taxInBase });
  const sums = new Map<MoneyOut, Sums>();
  let [original, amount] = [nothing, nothing];
  for (const [index, out] of own.entries()) {
    original = { from: original.to, to: original.to + out.amount };
    amount = { from: amount.to, to: atSaleRate(original.to, sale) };
    sums.set(out, { original, amount, tax: taxes[index] ?? nothing });
  }
  return sums;
}

/** Converted at its own day's rate, because its sale is unknown or in another currency. */
function atOwnRate({ amount, tax, quote }: MoneyOut): Sums {
  return {
    original: upTo(amount),
    amount: upTo(inBase(amount, quote)),
    tax: tax === null ? nothing : upTo(inBase(tax, quote)),
  };
}

/** Of an unknown sale, or in another currency. If it names lines, only those share it. */
function outMove(out: MoneyOut, sums: Sums, known: Known): Move {
  const { entry, kind, currency, at } = out;
  const country = known.country ?? out.country ?? unknownCountry;
  const lines = out.lines.length > 0 ? namedLines(out, known) : known.lines;
  const unmoved = { fee: nothing, sales: 0, isOut: true } as const;
  return { entry, kind, currency, country, at, ...sums, ...unmoved, lines, returned: null };
}

/** @param named what was named before it, to which it is added */
function saleOutMove(
  out: MoneyOut,
  sums: Sums,
  known: Known,
  sold: SoldLines,
  named: NamedLines,
): Move {
  const from = named.sum;
  const step = partsBy((measure) => sums[measure].to - sums[measure].from);
  if (out.undoes !== null) {
    const back = partsBy((measure) => -step[measure]);
    named.giveBack(out.undoes, back);
  } else if (out.lines.length > 0) named.take(out.entry, step, namedLines(out, known));
  const move = outMove({ ...out, lines: [] }, sums, known);
  return { ...move, lines: sold.lines, returned: { sold, from, to: named.sum } };
}

function namedLines({ lines }: MoneyOut, { skus }: Known): Line[] {
  return bySku(lines.map((line) => withSku(line, skus)));
}

function atSaleRate(amount: bigint, sale: Sale): bigint {
  return amount === sale.amount ? sale.normalized : inBase(amount, sale.quote);
}

const nothing: Span = { from: 0n, to: 0n };

function upTo(to: bigint): Span {
  return { from: 0n, to };
}

function withSku(line: Line, skus: ReadonlyMap<string, string>): Line {
  if (line.external_id !== "" || !line.item) return line;
  return { ...line, external_id: skus.get(line.item) ?? "" };
}

export function largestLine(lines: readonly Line[]): Line | undefined {
  let largest = lines[0];
  for (const line of lines) if (largest && line.weight > largest.weight) largest = line;
  return largest;
}

export function inBase(amount: bigint, quote: Quote): bigint {
  return convertMinor(amount, quote.rate, quote.currency, quote.base_currency);
}
