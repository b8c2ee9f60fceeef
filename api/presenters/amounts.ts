/** MRR sums stay unrounded (millionths, as bigint) until they are shown; ratios are of those. */
import { knownExponentOf } from "../../schemas/currencies.js";
import {
  decimalText,
  divideRounded,
  parseDecimal,
  powerOfTen,
  rescale,
} from "../../schemas/decimal.js";
import { roundToMinor, toJsonNumber } from "../../schemas/money.js";

/** Decimals of an MRR sum, as the tables have them. */
export const mrrPlaces = 6;

/** @param text an MRR sum as ClickHouse gives it @returns millionths of the base currency */
export function mrrOf(text: string): bigint {
  const decimal = parseDecimal(text);
  if (decimal === null) throw new Error(`No decimal: ${JSON.stringify(text)}`);
  return rescale(decimal, mrrPlaces).digits;
}

/** @param mrr millionths @returns the number JSON shows, rounded to the minor unit */
export function showMrr(mrr: bigint, currency: string): number {
  const exponent = knownExponentOf(currency);
  return toJsonNumber(
    roundToMinor(decimalText({ digits: mrr, scale: mrrPlaces }), exponent),
    exponent,
  );
}

/** `part ÷ whole × 100`, rounded once to so many decimals. */
export function percent(part: bigint, whole: bigint, decimals: number): number {
  const digits = divideRounded(part * 100n * powerOfTen(decimals), whole);
  return Number(decimalText({ digits, scale: decimals }));
}
