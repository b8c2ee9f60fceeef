/** A figure as a proof may show it: rounded, or an index without amounts. Pure. */
import type { ShownAs } from "../../schemas/http/proofs.js";
import {
  divideRounded,
  knownExponentOf,
  majorToMinor,
  powerOfTen,
  toJsonNumber,
} from "../../schemas/money/money.js";

export type Unit = "money" | "count" | "percent";

export interface Shown {
  readonly values: readonly (number | null)[];
  readonly text: string;
}

/** @param figures as the interface answers them, oldest first; null: there is none */
export function shownFigures(
  figures: readonly (number | null)[],
  unit: Unit,
  currency: string,
  as: ShownAs,
): Shown {
  const decimals = unit === "money" ? knownExponentOf(currency) : unitDecimals[unit];
  const exact = figures.map((figure) => (figure === null ? null : unitsOf(figure, decimals)));
  if (as === "index") {
    const values = indexOf(exact).map((each) => (each === null ? null : toJsonNumber(each, 0)));
    return { values, text: textOf(values.at(-1) ?? null, as, indexFormat) };
  }
  const values = exact.map((each) =>
    each === null ? null : toJsonNumber(rounded(each, as), decimals),
  );
  return { values, text: textOf(values.at(-1) ?? null, as, formatOf(unit, currency, decimals)) };
}

export function formatOf(unit: Unit, currency: string, decimals: number): Format {
  if (unit === "percent") {
    const format = new Intl.NumberFormat("en", { maximumFractionDigits: decimals });
    return (value) => `${format.format(value)}%`;
  }
  const style = unit === "money" ? ({ style: "currency", currency } as const) : {};
  const format = new Intl.NumberFormat("en", { ...style, trailingZeroDisplay: "stripIfInteger" });
  return (value) => format.format(value);
}

type Format = (value: number) => string;

/** Rates have two decimals in the interface; counts have none. */
const unitDecimals = { count: 0, percent: 2 } as const;

const words = { exact: "", two_digits: "about ", at_least: "at least ", index: "" } as const;
const indexFormat: Format = (value) => `${value} (first month: 100)`;

function textOf(value: number | null, as: ShownAs, format: Format): string {
  return value === null ? "not available" : `${words[as]}${format(value)}`;
}

function unitsOf(figure: number, decimals: number): bigint {
  const units = majorToMinor(String(figure), decimals);
  if (units === null) throw new Error(`the interface answered ${figure}`);
  return units;
}

/** @param value in the smallest unit */
export function rounded(value: bigint, as: Exclude<ShownAs, "index">): bigint {
  const size = value < 0n ? -value : value;
  const lead = powerOfTen(size.toString().length - 1);
  if (as === "exact" || size === 0n) return value;
  if (as === "two_digits") {
    const step = lead >= 10n ? lead / 10n : 1n;
    return divideRounded(value, step) * step;
  }
  const steps = [10n, 5n, 2n, 1n].map((step) => step * lead);
  // Below 0, "at least" rounds away from 0.
  if (value < 0n) return -(steps.findLast((step) => step >= size) ?? size);
  return steps.find((step) => step <= size) ?? size;
}

/** The first value above 0 is 100; earlier ones are null. */
function indexOf(values: readonly (bigint | null)[]): (bigint | null)[] {
  const base = values.find((value) => value !== null && value > 0n) ?? null;
  const first = values.indexOf(base);
  return values.map((value, place) =>
    value === null || base === null || place < first ? null : divideRounded(value * 100n, base),
  );
}
