/** What a quantity costs where its price has tiers. */
import {
  addFractions,
  type Fraction,
  fraction,
  multiplyFractions,
  zeroFraction,
} from "../schemas/money/monthly.js";

export interface Tier {
  /** Its last unit; null: there is none. */
  readonly upTo: bigint | null;
  /** Of each of its units. */
  readonly unit: Fraction | null;
  /** Due once any unit falls in the tier; that of the first tier always. */
  readonly flat: Fraction | null;
}

/**
 * Volume: every unit at the price of the tier the quantity falls in. Else graduated: each tier
 * prices its own units.
 */
export function tieredAmount(
  tiers: readonly Tier[],
  isVolume: boolean,
  quantity: bigint,
): Fraction {
  let below = 0n;
  let total = zeroFraction;
  for (const { upTo, unit, flat } of tiers) {
    const isLast = upTo === null || quantity <= upTo;
    const units = isVolume ? quantity : (isLast ? quantity : upTo) - below;
    if (isLast || !isVolume) {
      const ofUnits = multiplyFractions(unit ?? zeroFraction, fraction(units));
      total = addFractions(total, addFractions(ofUnits, flat ?? zeroFraction));
    }
    if (isLast) break;
    below = upTo;
  }
  return total;
}
