/**
 * A store's report of a month: sums, never payments. They stand beside what is booked and say that
 * the month's money is known. The next store's reader is one file in its folder.
 */
import type { ReportKind } from "../../schemas/http/reports.js";
import {
  divideRounded,
  exponentOf,
  parseDecimal,
  powerOfTen,
  rescale,
} from "../../schemas/money/money.js";

export interface StoreReports<Credentials = unknown> {
  /** Which files are read, for a person. */
  readonly files: string;
  /**
   * @param text the whole file
   * @param credentials say of which app lines count
   * @returns a text where it is no such report, or contradicts itself: why, never what is in it;
   *   `nothing` where it says nothing of the app
   */
  read(text: string, credentials: Credentials): StoreReport | string | { readonly nothing: string };
}

export interface StoreReport {
  readonly kind: ReportKind;
  /** YYYY-MM, the month that most of its days are in. */
  readonly month: string;
  /** What it covers, ms since 1970; the end is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly lines: number;
  readonly sums: readonly ReportSum[];
  /** What the store pays of it, by currency, in minor units. */
  readonly proceeds: readonly { readonly currency: string; readonly amount: bigint }[];
  /** Lines that are in no sum, by reason. */
  readonly leftOut: readonly { readonly why: string; readonly lines: number }[];
}

export type ReportOf = Pick<StoreReport, "kind" | "month">;

/** Minor units of the currency that customers paid in. */
export interface ReportSum {
  readonly product: string;
  readonly currency: string;
  readonly paid: bigint;
  readonly refunded: bigint;
}

/** Millionths, so that prices by the unit are added up exactly. */
const sumScale = 6;
/** Of one report: products times currencies. */
const sumsMax = 20_000;

/** A number as the stores write it: `-1`, `4.99`, `1,100.00`. @returns millionths; null: none */
export function numberIn(text: string | undefined): bigint | null {
  const plain = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text ?? "") ? text?.replaceAll(",", "") : text;
  const decimal = parseDecimal(plain ?? "");
  return decimal === null ? null : rescale(decimal, sumScale).digits;
}

/** The product of two such numbers. */
export function times(first: bigint, second: bigint): bigint {
  return divideRounded(first * second, powerOfTen(sumScale));
}

export function size(number: bigint): bigint {
  return number < 0n ? -number : number;
}

/** A line of a report by column; empty cells are left out. */
export type Cells = ReadonlyMap<string, string>;

export function cellsBy(columns: readonly string[], row: readonly string[]): Cells {
  const pairs = columns.map((name, index) => [name, row[index] ?? ""] as const);
  return new Map(pairs.filter(([, text]) => text !== ""));
}

export const tooMany = "it has more products and currencies than can be kept";

export class ReportSums {
  readonly #sums = new Map<string, { product: string; currency: string; of: [bigint, bigint] }>();
  readonly #proceeds = new Map<string, bigint>();
  readonly #leftOut = new Map<string, number>();

  /** @param amount millionths, without its sign @returns whether there is room for it */
  add(product: string, currency: string, amount: bigint, isRefund: boolean): boolean {
    const key = JSON.stringify([product, currency]);
    const known = this.#sums.get(key) ?? { product, currency, of: [0n, 0n] };
    known.of[isRefund ? 1 : 0] += amount;
    this.#sums.set(key, known);
    return this.#sums.size <= sumsMax;
  }

  addProceeds(currency: string, amount: bigint): void {
    this.#proceeds.set(currency, (this.#proceeds.get(currency) ?? 0n) + amount);
  }

  leaveOut(why: string): void {
    this.#leftOut.set(why, (this.#leftOut.get(why) ?? 0) + 1);
  }

  get all(): Pick<StoreReport, "sums" | "proceeds" | "leftOut"> {
    return {
      sums: [...this.#sums.values()]
        .map(({ product, currency, of: [paid, refunded] }) => ({
          product,
          currency,
          paid: minor(paid, currency),
          refunded: minor(refunded, currency),
        }))
        .sort((first, second) => (keyOf(first) < keyOf(second) ? -1 : 1)),
      proceeds: Array.from(this.#proceeds, ([currency, amount]) => ({
        currency,
        amount: minor(amount, currency),
      })).sort((first, second) => (first.currency < second.currency ? -1 : 1)),
      leftOut: Array.from(this.#leftOut, ([why, lines]) => ({ why, lines })),
    };
  }
}

function keyOf({ product, currency }: ReportSum): string {
  return `${product} ${currency}`;
}

/** One report of the files that a store made of it. */
export function together(first: StoreReport, second: StoreReport): StoreReport {
  return {
    ...first,
    from: Math.min(first.from, second.from),
    to: Math.max(first.to, second.to),
    lines: first.lines + second.lines,
    sums: joined([...first.sums, ...second.sums], keyOf, (one, { paid, refunded }) => ({
      ...one,
      paid: one.paid + paid,
      refunded: one.refunded + refunded,
    })),
    proceeds: joined(
      [...first.proceeds, ...second.proceeds],
      ({ currency }) => currency,
      (one, { amount }) => ({ ...one, amount: one.amount + amount }),
    ),
    leftOut: joined(
      [...first.leftOut, ...second.leftOut],
      ({ why }) => why,
      (one, { lines }) => ({ ...one, lines: one.lines + lines }),
    ),
  };
}

function joined<One>(
  all: readonly One[],
  nameOf: (one: One) => string,
  add: (one: One, other: One) => One,
): One[] {
  const found = new Map<string, One>();
  for (const one of all) {
    const known = found.get(nameOf(one));
    found.set(nameOf(one), known === undefined ? one : add(known, one));
  }
  return [...found.values()];
}

function minor(millionths: bigint, currency: string): bigint {
  return divideRounded(millionths, powerOfTen(sumScale - (exponentOf(currency) ?? 2)));
}

/** @returns the code, in capitals; null: there is no such currency */
export function currencyIn(text: string | undefined): string | null {
  const code = text?.toUpperCase() ?? "";
  return exponentOf(code) === null ? null : code;
}

const pacific = new Intl.DateTimeFormat("en-US", {
  timeZone: "America/Los_Angeles",
  hour: "2-digit",
  hourCycle: "h23",
});
const hourMs = 60 * 60 * 1000;

/** When a day begins where both stores count: in California. @param day ms since 1970, 00:00 UTC */
export function pacificMidnight(day: number): number {
  const standard = day + 8 * hourMs;
  return pacific.format(standard) === "00" ? standard : day + 7 * hourMs;
}
