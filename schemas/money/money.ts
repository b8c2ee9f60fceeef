/**
 * Amounts of money: bigint minor units inside, decimal text in major units at the edges. Rounding
 * is half away from zero, once. Plain decimals are in `decimal.ts`, what a subscription is worth a
 * month (fractions) in `monthly.ts`.
 *
 * A currency `exponentOf` does not know is our own mistake here and throws: it is refused where
 * data comes in.
 */
import { knownExponentOf } from "./currencies.js";
import { decimalText, divideRounded, parseDecimal, powerOfTen, rescale } from "./decimal.js";

/**
 * `"19.99"`, 2 → 1999n, exactly.
 * @returns null when the text is no decimal or is too precise for the currency
 */
export function majorToMinor(text: string, exponent: number): bigint | null {
  const decimal = parseDecimal(text);
  if (decimal === null) return null;
  const { digits } = rescale(decimal, exponent);
  const exact = digits * powerOfTen(decimal.scale) === decimal.digits * powerOfTen(exponent);
  return exact ? digits : null;
}

/** 1999n, 2 → `"19.99"`. */
export function minorToMajor(amountMinor: bigint, exponent: number): string {
  return decimalText({ digits: amountMinor, scale: exponent });
}

/**
 * The number JSON shows, in major units. Below 10^15 minor units it prints as the exact decimal,
 * above it is the double nearest to it (two decimals: still the same cent up to 7 × 10^15).
 */
export function toJsonNumber(amountMinor: bigint, exponent: number): number {
  return Number(minorToMajor(amountMinor, exponent));
}

/** The number JSON shows where minor units stay minor units. */
export function toJsonMinor(amountMinor: bigint): number {
  return toJsonNumber(amountMinor, 0);
}

/**
 * `normalized_amount` = `gross_amount × fx_rate`, rounded to the base currency's minor unit.
 * @param rate base per original, in major units, as decimal text
 */
export function convertMinor(
  amountMinor: bigint,
  rate: string,
  originalCurrency: string,
  baseCurrency: string,
): bigint {
  const factor = parseDecimal(rate);
  if (factor === null) throw new Error(`No rate: ${JSON.stringify(rate)}`);
  return divideRounded(
    amountMinor * factor.digits * powerOfTen(knownExponentOf(baseCurrency)),
    powerOfTen(factor.scale + knownExponentOf(originalCurrency)),
  );
}

/**
 * Splits a payment over its lines: truncated shares pro rata, the remainder to the largest weight
 * (the first of equals). The shares always sum to the total. Weights may be negative (a credited
 * line). When they sum to nothing or less, the largest takes all. Without weights there is one
 * share, the total.
 */
export function splitByWeight(total: bigint, weights: readonly bigint[]): bigint[] {
  const weighed = weights.length === 0 ? [1n] : weights;
  const sum = weighed.reduce((running, weight) => running + weight, 0n);
  const shares = weighed.map((weight) => (sum > 0n ? (total * weight) / sum : 0n));
  const remainder = shares.reduce((running, share) => running - share, total);
  const largest = weighed.reduce((best, weight) => (weight > best ? weight : best));
  const taker = weighed.indexOf(largest);
  return shares.map((share, index) => (index === taker ? share + remainder : share));
}
