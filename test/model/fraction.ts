/**
 * Exact fractions for the reference model. Nothing here is shared with the product: a mistake in
 * the product's arithmetic must not be repeated by its proof.
 */

/** In lowest terms; the denominator is positive. */
export interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}

export const zero: Fraction = { n: 0n, d: 1n };
export const one: Fraction = { n: 1n, d: 1n };

export function fraction(n: bigint, d = 1n): Fraction {
  if (d === 0n) throw new RangeError("a fraction of nothing");
  const sign = d < 0n ? -1n : 1n;
  const common = greatestCommonDivisor(n < 0n ? -n : n, d * sign);
  return { n: (n * sign) / common, d: (d * sign) / common };
}

/** "-12.50" → -25/2; also JSON's exponents ("1e-7"). */
export function fractionOfText(text: string): Fraction {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) throw new RangeError(`not a decimal: ${text}`);
  const [, sign, whole = "", part = "", exponent = "0"] = match;
  const digits = BigInt(whole + part) * (sign === "-" ? -1n : 1n);
  return times(fraction(digits), tenTo(Number(exponent) - part.length));
}

export const plus = (a: Fraction, b: Fraction) => fraction(a.n * b.d + b.n * a.d, a.d * b.d);
export const minus = (a: Fraction, b: Fraction) => fraction(a.n * b.d - b.n * a.d, a.d * b.d);
export const times = (a: Fraction, b: Fraction) => fraction(a.n * b.n, a.d * b.d);
export const over = (a: Fraction, b: Fraction) => fraction(a.n * b.d, a.d * b.n);
export const isLess = (a: Fraction, b: Fraction) => a.n * b.d < b.n * a.d;
export const isEqual = (a: Fraction, b: Fraction) => a.n === b.n && a.d === b.d;
export const tenTo = (power: number) =>
  power < 0 ? fraction(1n, 10n ** BigInt(-power)) : fraction(10n ** BigInt(power));

export const sumOf = (values: readonly bigint[]) => values.reduce((sum, value) => sum + value, 0n);

/** To the nearest whole number, halves away from zero. */
export function rounded(value: Fraction): bigint {
  const size = value.n < 0n ? -value.n : value.n;
  const whole = (2n * size + value.d) / (2n * value.d);
  return value.n < 0n ? -whole : whole;
}

/** Towards zero. */
export const truncated = (value: Fraction) => value.n / value.d;

/** To so many places behind the point, halves away from zero, as a JSON number shows it. */
export function shown(value: Fraction, places: number): number {
  const digits = rounded(times(value, tenTo(places)));
  const sign = digits < 0n ? "-" : "";
  const padded = (digits < 0n ? -digits : digits).toString().padStart(places + 1, "0");
  const point = padded.length - places;
  return Number(`${sign}${padded.slice(0, point)}.${padded.slice(point)}0`);
}

/** A positive value to so many significant digits, halves away from zero. */
export function significant(value: Fraction, digits: number): Fraction {
  let power = 0;
  while (!isLess(value, tenTo(power + 1))) power += 1;
  while (isLess(value, tenTo(power))) power -= 1;
  const unit = tenTo(power - digits + 1);
  return times(fraction(rounded(over(value, unit))), unit);
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}
