/** What the readers of Google's answers share: fields as Google writes them, and outcomes. */
import { z } from "zod";
import { knownExponentOf, powerOfTen, rescale } from "../../schemas/money/money.js";
import { type Fraction, fraction } from "../../schemas/money/monthly.js";
import { anyCaseCurrency } from "../fields.js";
import { rejected, type Unreported } from "../outcomes.js";

/** Needed, but not answered (`definitions.md`, Providers). */
export function unavailable(what: string): Unreported {
  return rejected("enrichment_unavailable", `Google Play must be asked: ${what}`);
}

/** RFC 3339 with up to nine decimals → ms since 1970; what is finer is cut. */
export const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** A country is optional for a payment: an invalid one is read as unknown. */
export const country = z
  .string()
  .regex(/^[A-Z]{2}$/)
  .nullish()
  .catch(null)
  .transform((code) => code ?? null);

const nanoScale = 9;
const nanosMax = 999_999_999;

/** One unit is 10^9 of `nanoUnits`; exact. */
export interface Money {
  readonly currency: string;
  readonly nanoUnits: bigint;
}

/**
 * `Money`: whole units as text and billionths of a unit, either of which may be absent for 0 and
 * both negative for a negative amount. Source: google.type.Money.
 */
export const money = z
  .object({
    currencyCode: anyCaseCurrency,
    units: z
      .string()
      .regex(/^-?\d{1,15}$/, "no amount")
      .nullish(),
    nanos: z.int().min(-nanosMax).max(nanosMax).nullish(),
  })
  .transform(({ currencyCode: currency, units, nanos }): Money => ({
    currency,
    nanoUnits: BigInt(units ?? "0") * powerOfTen(nanoScale) + BigInt(nanos ?? 0),
  }));

/** Minor units of ISO 4217; rounded only where Google reports more decimals than there are. */
export function minorOf({ currency, nanoUnits }: Money): bigint {
  return rescale({ digits: nanoUnits, scale: nanoScale }, knownExponentOf(currency)).digits;
}

/** Null where it is not reported, or in another currency. */
export function minorIn(currency: string, given: Money | null | undefined): bigint | null {
  return given?.currency === currency ? minorOf(given) : null;
}

/** The same for prices, which may be fractions of a minor unit. */
export function minorFractionOf({ currency, nanoUnits }: Money): Fraction {
  return fraction(nanoUnits * powerOfTen(knownExponentOf(currency)), powerOfTen(nanoScale));
}
