/** MRR sums stay unrounded (millionths, as bigint) until they are shown; ratios are of those. */
import {
  decimalText,
  divideRounded,
  knownExponentOf,
  powerOfTen,
  toJsonNumber,
} from "../../schemas/money/money.js";
import { mrrPlaces } from "../../schemas/money/monthly.js";

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

/**
 * `exact ÷ unit` as whole numbers with the sum `total`: each is rounded down, and what is missing
 * goes to those that lost most (the method of largest remainders). What is 0 stays 0, and none is
 * a whole unit off.
 */
export function apportioned(total: bigint, exact: readonly bigint[], unit: bigint): bigint[] {
  const remainders = exact.map((value) => ((value % unit) + unit) % unit);
  const shares = exact.map((value, index) => (value - (remainders[index] ?? 0n)) / unit);
  let missing = shares.reduce((left, share) => left - share, total);
  const byLoss = remainders
    .map((remainder, index) => ({ remainder, index }))
    .filter(({ remainder }) => remainder > 0n)
    .sort((one, other) =>
      one.remainder === other.remainder ? 0 : one.remainder > other.remainder ? -1 : 1,
    );
  for (const { index } of byLoss) {
    if (missing <= 0n) break;
    shares[index] = (shares[index] ?? 0n) + 1n;
    missing -= 1n;
  }
  if (missing !== 0n) throw new Error("balances and movements of MRR do not belong together");
  return shares;
}
