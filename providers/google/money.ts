/**
 * Google's `Money`: whole units as text and billionths of a unit, either of which may be absent
 * for 0 and both negative for a negative amount. Source: google.type.Money.
 */
import { z } from "zod";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { divideRounded, powerOfTen } from "../../schemas/money/decimal.js";
import { type Fraction, fraction } from "../../schemas/money/monthly.js";
import { anyCaseCurrency } from "../fields.js";

const nanoScale = 9;
const nanosMax = 999_999_999;

/** One unit is 10^9 of `nanoUnits`; exact. */
export interface Money {
  readonly currency: string;
  readonly nanoUnits: bigint;
}

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
  return divideRounded(nanoUnits * powerOfTen(knownExponentOf(currency)), powerOfTen(nanoScale));
}

/** The same for prices, which may be fractions of a minor unit. */
export function minorFractionOf({ currency, nanoUnits }: Money): Fraction {
  return fraction(nanoUnits * powerOfTen(knownExponentOf(currency)), powerOfTen(nanoScale));
}
