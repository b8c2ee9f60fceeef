/**
 * Currencies of ISO 4217 and their exponents: how many decimals the minor unit has.
 *
 * Source: ISO 4217 list one (active, 2026) and list three (historic; only those a rate source
 * still quotes). List three reports no exponents; they are those of the JDK's currency data.
 * Codes without a minor unit (gold, special drawing rights, testing) are no money here.
 */

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
