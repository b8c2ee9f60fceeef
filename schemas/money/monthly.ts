/**
 * What a recurring price is worth a month, exactly: a fraction of one minor unit, turned into base
 * currency and rounded once (`definitions.md`, MRR).
 */
import {
  decimalText,
  divideRounded,
  knownExponentOf,
  parseDecimal,
  powerOfTen,
  rescale,
  trimmedText,
} from "./money.js";

/** Always in lowest terms with a positive denominator: equal values are equal fields. */
export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

type Interval = "day" | "week" | "month" | "year";

export interface BillingPeriod {
  readonly interval: Interval;
  readonly intervalCount: bigint;
}

export const zeroFraction: Fraction = { numerator: 0n, denominator: 1n };

/** Months in one interval: (unit price ÷ interval_count) × factor is the price of a month. */
const monthlyFactors: Readonly<Record<Interval, Fraction>> = {
  month: { numerator: 1n, denominator: 1n },
  year: { numerator: 1n, denominator: 12n },
  week: { numerator: 13n, denominator: 3n }, // 52/12
  day: { numerator: 365n, denominator: 12n },
};

/** MRR is kept with this many decimals of the base currency, whatever its exponent. */
export const mrrPlaces = 6;

/** @param text MRR as ClickHouse gives it @returns millionths of the base currency */
export function mrrOf(text: string): bigint {
  const decimal = parseDecimal(text);
  if (decimal === null) throw new Error(`No decimal: ${JSON.stringify(text)}`);
  return rescale(decimal, mrrPlaces).digits;
}

/** @param mrr millionths @returns decimal text without zeros at the end, as ClickHouse writes it */
export function plainMrr(mrr: bigint): string {
  return trimmedText({ digits: mrr, scale: mrrPlaces });
}

/** @param mrr millionths @returns decimal text of all its places */
export function exactMrr(mrr: bigint): string {
  return decimalText({ digits: mrr, scale: mrrPlaces });
}

/**
 * `amount ÷ interval count × factor`, of one minor unit.
 * @param amount of one period: unit price × quantity, less discounts
 */
export function monthlyFraction(
  amount: Fraction,
  { interval, intervalCount }: BillingPeriod,
): Fraction {
  const perInterval = multiplyFractions(amount, fraction(1n, intervalCount));
  return multiplyFractions(perInterval, monthlyFactors[interval]);
}

/**
 * A month's worth in base currency, in major units with 6 decimals: `"8.333333"`.
 * @param monthly of one minor unit of the original currency
 * @param rate base per original, in major units, as decimal text
 */
export function monthlyToMrr(monthly: Fraction, rate: string, originalCurrency: string): string {
  const factor = parseDecimal(rate);
  if (factor === null) throw new Error(`No rate: ${JSON.stringify(rate)}`);
  const scale = factor.scale + knownExponentOf(originalCurrency);
  return decimalText({
    digits: divideRounded(
      monthly.numerator * factor.digits * powerOfTen(mrrPlaces),
      monthly.denominator * powerOfTen(scale),
    ),
    scale: mrrPlaces,
  });
}

/** @throws when the denominator is 0: a price per nothing must not get this far */
export function fraction(numerator: bigint, denominator = 1n): Fraction {
  if (denominator === 0n) throw new Error("A fraction of 0");
  const divisor = greatestDivisor(numerator, denominator);
  const sign = denominator < 0n ? -1n : 1n;
  return {
    numerator: (sign * numerator) / divisor,
    denominator: (sign * denominator) / divisor,
  };
}

/** `"0.125"` → 1/8; null when it is no decimal text. */
export function parseFraction(text: string): Fraction | null {
  const decimal = parseDecimal(text);
  return decimal && fraction(decimal.digits, powerOfTen(decimal.scale));
}

export function addFractions(one: Fraction, other: Fraction): Fraction {
  return fraction(
    one.numerator * other.denominator + other.numerator * one.denominator,
    one.denominator * other.denominator,
  );
}

export function subtractFractions(one: Fraction, other: Fraction): Fraction {
  return addFractions(one, { ...other, numerator: -other.numerator });
}

export function multiplyFractions(one: Fraction, other: Fraction): Fraction {
  return fraction(one.numerator * other.numerator, one.denominator * other.denominator);
}

function greatestDivisor(one: bigint, other: bigint): bigint {
  let [larger, smaller] = [one, other];
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller];
  return larger < 0n ? -larger : larger;
}
