/** MRR sums stay unrounded (millionths, as bigint) until they are shown; ratios are of those. */
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { decimalText, divideRounded, powerOfTen } from "../../schemas/money/decimal.js";
import { mrrPlaces } from "../../schemas/money/monthly.js";
import { toJsonNumber } from "../../schemas/money/money.js";

/**
 * @param mrr millionths
 * @param parts it is shared among
 * @returns minor units, rounded once
 */
export function mrrMinor(mrr: bigint, currency: string, parts = 1n): bigint {
  const exponent = knownExponentOf(currency);
  return divideRounded(mrr * powerOfTen(exponent), parts * powerOfTen(mrrPlaces));
}

/** The same as the number JSON shows. */
export function showMrr(mrr: bigint, currency: string, parts = 1n): number {
  return toJsonNumber(mrrMinor(mrr, currency, parts), knownExponentOf(currency));
}

/** `part ÷ whole × 100`, rounded once to so many decimals. */
export function percent(part: bigint, whole: bigint, decimals: number): number {
  return ratio(part * 100n, whole, decimals);
}

/** `part ÷ whole`, rounded once to so many decimals. */
export function ratio(part: bigint, whole: bigint, decimals: number): number {
  const digits = divideRounded(part * powerOfTen(decimals), whole);
  return Number(decimalText({ digits, scale: decimals }));
}
