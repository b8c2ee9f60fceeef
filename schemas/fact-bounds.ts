/**
 * How large the numbers of a fact may be, whichever adapter told it. What is larger could not be
 * written down, and would stop everybody's facts instead of being a reject.
 */
import { convertMinor } from "./money.js";
import type { FactBody, Item, Quote } from "./records.js";

/**
 * Whether every amount, tax, fee and weight is at most `max` in its own currency, what is converted
 * also in the base currency, and every monthly price a fraction of 64 bits.
 * @param quote by which the fact's money is converted; null where nothing is, or not yet
 * @param max minor units
 */
export function isWithinBounds(body: FactBody, quote: Quote | null, max: bigint): boolean {
  return numbersIn(body).every(([name, value]) => {
    if (fractions.has(name)) return isInt64(value);
    const size = value < 0n ? -value : value;
    if (size > max || name === "weight" || quote === null) return size <= max;
    return convertMinor(size, quote.rate, quote.currency, quote.base_currency) <= max;
  });
}

/** Whether a monthly price can be written down. */
export function isMonthlyWithinBounds({
  monthly_numerator: numerator,
  monthly_denominator: denominator,
}: Item): boolean {
  return isInt64(numerator) && isInt64(denominator);
}

/** Of what a `long` of Avro and a column of the ledger hold. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

/** Fields of `Item` (`records.ts`). */
const fractions: ReadonlySet<string> = new Set(["monthly_numerator", "monthly_denominator"]);

/** Whole numbers are money, weights or fractions: times are no bigints. */
function numbersIn(value: unknown, name = ""): [name: string, value: bigint][] {
  if (typeof value === "bigint") return [[name, value]];
  if (Array.isArray(value)) return value.flatMap((each) => numbersIn(each, name));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([field, inside]) => numbersIn(inside, field));
}
