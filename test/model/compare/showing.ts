/** How the model shows sums: rounded once, to the minor unit of their currency. */
import { exponentOf } from "../facts.js";
import { fraction, shown, tenTo, times, type Fraction } from "../fraction.js";

export const shownMinor = (amount: bigint, currency: string) =>
  shown(times(fraction(amount), tenTo(-exponentOf(currency))), exponentOf(currency));
export const shownMicros = (micros: bigint, base: string) =>
  shown(unitsOf(micros), exponentOf(base));

export function grouped<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

/** Sum in millionths → units of the base currency. */
export const unitsOf = (micros: bigint): Fraction => fraction(micros, 1_000_000n);
