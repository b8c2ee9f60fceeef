/** Exact decimals: a bigint and the place of its point. Nothing here passes through a double. */

/** `digits ÷ 10^scale`; the scale is never negative. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/** Longer text is no amount or rate anybody sends; keeps one field from costing seconds. */
const textLengthMax = 64;
/** Also in `1e40`; a JSON number may say 1e308, and no money does. */
const exponentMax = 40;

const decimalShape = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/** @returns the exact value of `12.50`, `-3`, `1e3` or `1.5E-2`; null when it is no such text */
export function parseDecimal(text: string): Decimal | null {
  if (text.length > textLengthMax) return null;
  const match = decimalShape.exec(text);
  if (match === null) return null;
  const [, sign, whole = "", part = "", exponentText = "0"] = match;
  const exponent = Number.parseInt(exponentText, 10);
  if (whole + part === "" || Math.abs(exponent) > exponentMax) return null;
  const digits = BigInt(whole + part) * (sign === "-" ? -1n : 1n);
  const scale = part.length - exponent;
  return scale >= 0 ? { digits, scale } : { digits: digits * powerOfTen(-scale), scale: 0 };
}

/** Plain notation with exactly `scale` decimals: `-0.50`. */
export function decimalText({ digits, scale }: Decimal): string {
  if (scale === 0) return digits.toString();
  const text = magnitude(digits)
    .toString()
    .padStart(scale + 1, "0");
  return `${digits < 0n ? "-" : ""}${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

/** The same value without zeros at the end: one text for one value. */
export function trimmedText(decimal: Decimal): string {
  const text = decimalText(decimal);
  return decimal.scale === 0 ? text : text.replace(/\.?0+$/, "");
}

/** Half away from zero, the only rounding of the service (`definitions.md`, Money and rates). */
export function divideRounded(numerator: bigint, denominator: bigint): bigint {
  const size = magnitude(denominator);
  const rounded = (2n * magnitude(numerator) + size) / (2n * size);
  return numerator < 0n === denominator < 0n ? rounded : -rounded;
}

/** The value with `scale` decimals, rounded once when it had more. */
export function rescale(decimal: Decimal, scale: number): Decimal {
  const shift = scale - decimal.scale;
  const digits =
    shift >= 0
      ? decimal.digits * powerOfTen(shift)
      : divideRounded(decimal.digits, powerOfTen(-shift));
  return { digits, scale };
}

/** `numerator ÷ denominator` to so many significant digits, rounded once. Both positive. */
export function divideSignificant(
  numerator: Decimal,
  denominator: Decimal,
  digitsMax: number,
): Decimal {
  const above = numerator.digits * powerOfTen(denominator.scale);
  const below = denominator.digits * powerOfTen(numerator.scale);
  const at = (scale: number): bigint =>
    scale >= 0
      ? divideRounded(above * powerOfTen(scale), below)
      : divideRounded(above, below * powerOfTen(-scale));
  // The quotient's whole part has this many digits or one more. When it was one more, the first
  // try is a digit too long and is made again from the exact values: rounding twice would err.
  let scale = digitsMax - (above.toString().length - below.toString().length);
  let digits = at(scale);
  if (digits >= powerOfTen(digitsMax)) digits = at(--scale);
  return scale >= 0 ? { digits, scale } : { digits: digits * powerOfTen(-scale), scale: 0 };
}

/** Whether two positive values are more than so many times apart, either way. */
export function isFartherApart(one: Decimal, other: Decimal, times: bigint): boolean {
  const left = one.digits * powerOfTen(other.scale);
  const right = other.digits * powerOfTen(one.scale);
  return left > right * times || right > left * times;
}

const powers: readonly bigint[] = Array.from(
  { length: 64 },
  (_, exponent) => 10n ** BigInt(exponent),
);

export function powerOfTen(exponent: number): bigint {
  return powers[exponent] ?? 10n ** BigInt(exponent);
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}
