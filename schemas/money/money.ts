/**
 * Amounts of money: bigint minor units inside, decimal text in major units at the edges. Rounding
 * is half away from zero, once. What a subscription is worth a month (fractions) is in
 * `monthly.ts`.
 *
 * Below: exact decimals (a bigint and the place of its point; nothing here passes through a
 * double), the currencies with their exponents, amounts, and how much of a sale was refunded.
 *
 * A currency `exponentOf` does not know is our own mistake here and throws: it is refused where
 * data comes in.
 */

/** `digits ÷ 10^scale`; the scale is never negative. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/** No amount or rate is longer; to parse a very long text would take seconds. */
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

/** @returns decimals of the minor unit (JPY 0, USD 2, KWD 3), or null for an unknown currency */
export function exponentOf(code: string): number | null {
  return exponents.get(code) ?? null;
}

/** @throws when the currency is unknown: data was let in without a look at `exponentOf` */
export function knownExponentOf(code: string): number {
  const exponent = exponents.get(code);
  if (exponent === undefined) throw new Error(`No such currency: ${JSON.stringify(code)}`);
  return exponent;
}

/** Those whose exponent is not 2, for SQL. */
export function unusualExponents(): [code: string, exponent: number][] {
  return [...exponents].filter(([, exponent]) => exponent !== usualExponent);
}

/**
 * Currencies the euro replaced at a rate fixed by law: the last quote of one holds for ever
 * (`definitions.md`, Money and rates).
 */
export const euroPredecessors: ReadonlySet<string> = new Set(
  words(`
    ATS BEF BGN CYP DEM EEK ESP FIM FRF GRD HRK IEP ITL LTL LUF LVL MTL NLG PTE SIT SKK
  `),
);

/**
 * Currencies of ISO 4217 and their exponents: how many decimals the minor unit has.
 *
 * Source: ISO 4217 list one (active, 2026) and list three (historic; only those a rate source
 * still quotes). List three reports no exponents; they are those of the JDK's currency data.
 * Codes without a minor unit (gold, special drawing rights, testing) are no money here.
 */
const active = words(`
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD
  CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP
  GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR
  KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN
  MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD
  SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX
  USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
`);

const historic = words(`
  ANG ATS AZM BEF BGN BYR CUC CYP DEM EEK ESP FIM FRF GHC GRD HRK IEP ITL LTL LUF LVL MGF MRO MTL
  MZM NLG PTE ROL SDD SIT SKK SLL SRG STD TMM TRL VEB VEF ZMK ZWD ZWL
`);

const usualExponent = 2;
const unusual: readonly (readonly [exponent: number, codes: readonly string[]])[] = [
  [0, words("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF")],
  [0, words("BEF BYR ESP GRD ITL LUF MGF PTE TRL")],
  [3, words("BHD IQD JOD KWD LYD OMR TND")],
  [4, words("CLF UYW")],
];

const exponents: ReadonlyMap<string, number> = new Map([
  ...[...active, ...historic].map((code) => [code, usualExponent] as const),
  ...unusual.flatMap(([exponent, codes]) => codes.map((code) => [code, exponent] as const)),
]);

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

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

/**
 * A sale of which some may have been given back in other currencies
 * (docs/decisions/refunds-and-disputes.md). Minor units: `amount` of `currency`, `normalized` of
 * `base`.
 */
export interface SaleMoney {
  readonly amount: bigint;
  readonly normalized: bigint;
  readonly currency: string;
  readonly base: string;
  /** Base for one of `currency`, as decimal text. */
  readonly rate: string;
}

/**
 * How much of a sale was refunded, in its own currency.
 *
 * Of what refunds in the sale's currency left, as much as refunds in others took of its worth: all
 * of it when nothing of that is left, and never more, since what goes beyond is the rates' doing.
 *
 * @param own minor units of the sale's currency
 * @param othersInBase what refunds in other currencies came to, in minor units of base
 */
export function refundedOf(sale: SaleMoney, own: bigint, othersInBase: bigint): bigint {
  const left = sale.amount - own;
  if (othersInBase <= 0n || left <= 0n) return own;
  const worth = sale.normalized - convertMinor(own, sale.rate, sale.currency, sale.base);
  if (othersInBase >= worth) return sale.amount;
  return own + (left * othersInBase) / worth;
}
