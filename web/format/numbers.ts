/** Amounts, numbers and ratios as the reader's locale writes them. */
const formats = new Map<string, Intl.NumberFormat>();

export function money(amount: number, currency: string): string {
  // Of 0 with a changed sign, which would be shown as -0.
  return formatOf({ style: "currency", currency }).format(amount === 0 ? 0 : amount);
}

/** Of an amount in minor units. */
export function minorMoney(
  minor: number,
  { currency, exponent }: { readonly currency: string; readonly exponent: number },
): string {
  return money(minor / 10 ** exponent, currency);
}

/** With its sign, for what was added or lost. */
export function signedMoney(amount: number, currency: string): string {
  return formatOf({ style: "currency", currency, signDisplay: "exceptZero" }).format(amount);
}

/** For axes and small places: 12.3K. Empty where the currency has no such amount: ¥0.2. */
export function shortMoney(amount: number, currency: string): string {
  if (!Number.isInteger(amount) && Math.abs(amount) < 1_000) {
    const { maximumFractionDigits: digits = 0 } = formatOf({
      style: "currency",
      currency,
    }).resolvedOptions();
    const minor = amount * 10 ** digits;
    return Math.abs(minor - Math.round(minor)) < 1e-6 ? money(amount, currency) : "";
  }
  return formatOf({
    style: "currency",
    currency,
    notation: "compact",
    maximumFractionDigits: 1,
    minimumFractionDigits: 0,
  }).format(amount);
}

/** Large figures without a part of a unit; the whole amount stands in their title. */
export function roundMoney(amount: number, currency: string): string {
  return Math.abs(amount) < 1_000
    ? money(amount, currency)
    : formatOf({ style: "currency", currency, ...rounding(amount) }).format(amount);
}

export function signedRoundMoney(amount: number, currency: string): string {
  return Math.abs(amount) < 1_000
    ? signedMoney(amount, currency)
    : formatOf({
        style: "currency",
        currency,
        signDisplay: "exceptZero",
        ...rounding(amount),
      }).format(amount);
}

/** From a billion on a figure would not fit where it stands. */
function rounding(amount: number): Intl.NumberFormatOptions {
  return Math.abs(amount) < 1e9
    ? { maximumFractionDigits: 0 }
    : { notation: "compact", maximumSignificantDigits: 4 };
}

export function count(value: number): string {
  return formatOf({}).format(value);
}

/** @param value in percent */
export function percent(value: number, decimals = 1): string {
  return formatOf({
    style: "percent",
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(value / 100);
}

export function signedPercent(value: number, decimals = 1): string {
  return formatOf({
    style: "percent",
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
    signDisplay: "exceptZero",
  }).format(value / 100);
}

/** The difference of two percentages. */
export function signedPoints(value: number): string {
  const number = formatOf({
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
    signDisplay: "exceptZero",
  }).format(value);
  return `${number} points`;
}

export function decimal(value: number, decimals = 2): string {
  return formatOf({ minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(
    value,
  );
}

/** As many digits as it has, such as an exchange rate. */
export function exact(value: number): string {
  return formatOf({ maximumSignificantDigits: 15 }).format(value);
}

/** @returns percent, or null where there is nothing to compare with */
export function change(now: number, then: number): number | null {
  return then === 0 ? null : ((now - then) / Math.abs(then)) * 100;
}

function formatOf(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options);
  const known = formats.get(key);
  if (known !== undefined) return known;
  const made = new Intl.NumberFormat(undefined, options);
  formats.set(key, made);
  return made;
}
