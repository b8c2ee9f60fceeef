/** Amounts, numbers and ratios as the reader's locale writes them. */
const formats = new Map<string, Intl.NumberFormat>();

export function money(amount: number, currency: string): string {
  // Of 0 with a changed sign, which would be shown as -0.
  return formatOf({ style: "currency", currency }).format(amount === 0 ? 0 : amount);
}

/** With its sign, for what was added or lost. */
export function signedMoney(amount: number, currency: string): string {
  return formatOf({ style: "currency", currency, signDisplay: "exceptZero" }).format(amount);
}

/** For axes and small places: 12.3K. */
export function shortMoney(amount: number, currency: string): string {
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
  const isSmall = Math.abs(amount) < 1_000;
  return isSmall
    ? money(amount, currency)
    : formatOf({ style: "currency", currency, maximumFractionDigits: 0 }).format(amount);
}

export function signedRoundMoney(amount: number, currency: string): string {
  const isSmall = Math.abs(amount) < 1_000;
  return isSmall
    ? signedMoney(amount, currency)
    : formatOf({
        style: "currency",
        currency,
        maximumFractionDigits: 0,
        signDisplay: "exceptZero",
      }).format(amount);
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
