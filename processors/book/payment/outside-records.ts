/**
 * One payment reported record by record (`record` of schemas/records/records.ts): money that came
 * from outside a provider, in several goes (docs/decisions/payments.md). Pure.
 */

interface Reading {
  readonly record?: string;
  /** minor units */
  readonly amount: bigint;
}

/**
 * A record of the whole amount counts alone; otherwise the records add up.
 * @param reported readings of one payment, of each thing the one that counts first
 */
export function addedUp(reported: readonly Reading[]): bigint {
  const whole = reported.find(({ record = "" }) => record === "");
  if (whole !== undefined) return whole.amount;
  const amounts = new Map<string, bigint>();
  for (const { record = "", amount } of reported) {
    if (!amounts.has(record)) amounts.set(record, amount);
  }
  return [...amounts.values()].reduce((sum, amount) => sum + amount, 0n);
}
