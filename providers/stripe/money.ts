/**
 * Stripe's minor units to those of ISO 4217. They differ for three currencies: ISK and UGX have no
 * decimals in ISO but are sent with two (500 is 5 ISK); MGA has two in ISO but is sent without.
 * Source: docs.stripe.com/currencies, "Special cases".
 */
import { divideRounded } from "../../schemas/money/money.js";
import { type Fraction, fraction, multiplyFractions } from "../../schemas/money/monthly.js";

const isoPerStripeUnit: ReadonlyMap<string, Fraction> = new Map([
  ["ISK", fraction(1n, 100n)],
  ["UGX", fraction(1n, 100n)],
  ["MGA", fraction(100n)],
]);
const same = fraction(1n);

/** @param currency upper case. Rounded only where Stripe breaks its own rule of two zeros. */
export function isoMinor(stripeAmount: bigint, currency: string): bigint {
  const factor = isoPerStripeUnit.get(currency);
  if (factor === undefined) return stripeAmount;
  return divideRounded(stripeAmount * factor.numerator, factor.denominator);
}

/** The same for prices, which may be fractions of a minor unit. */
export function isoMinorFraction(stripeAmount: Fraction, currency: string): Fraction {
  return multiplyFractions(stripeAmount, isoPerStripeUnit.get(currency) ?? same);
}
