/** What recurring discounts leave of the prices they cover (`definitions.md`, MRR). */
import {
  addFractions,
  type Fraction,
  fraction,
  multiplyFractions,
  subtractFractions,
  zeroFraction,
} from "../schemas/money/monthly.js";

export interface Reduction {
  /** From this moment on it no longer applies; null: for ever. */
  readonly endsAt: number | null;
  /** What is left of an amount: 7/8 after 12.5 % off. */
  readonly factor: Fraction;
  /** ISO minor units off one period */
  readonly amountOff: bigint;
  /** Limited to these; null: all. */
  readonly products: readonly string[] | null;
}

export interface Reducible {
  readonly product: string;
  /** ISO minor units of one period, before discounts */
  readonly amount: Fraction;
  readonly own: readonly Reduction[];
}

/** What so many percent off leave. */
export function factorOf(percentOff: Fraction): Fraction {
  const left = subtractFractions(fraction(1n), multiplyFractions(percentOff, fraction(1n, 100n)));
  return left.numerator < 0n ? zeroFraction : left;
}

/**
 * What one period costs after the discounts that apply at a moment: an item's own first, then
 * those of the whole subscription, each on what those before it left (`definitions.md`, MRR).
 */
export function reducedAmounts(
  items: readonly Reducible[],
  whole: readonly Reduction[],
  at: number,
): Fraction[] {
  const applies = ({ endsAt }: Reduction): boolean => endsAt === null || endsAt > at;
  let amounts = items.map((item) => item.amount);
  for (const item of items) {
    for (const reduction of item.own.filter(applies)) {
      amounts = reduced(amounts, items, reduction, (other) => other === item);
    }
  }
  for (const reduction of whole.filter(applies)) {
    amounts = reduced(amounts, items, reduction, () => true);
  }
  return amounts;
}

/** A percentage takes its part of each item it covers; an amount is shared out over them. */
function reduced(
  amounts: readonly Fraction[],
  items: readonly Reducible[],
  { factor, amountOff, products }: Reduction,
  isMeant: (item: Reducible) => boolean,
): Fraction[] {
  const covered = items.map(
    (item) => isMeant(item) && (products === null || products.includes(item.product)),
  );
  const left = amounts.map((amount, index) =>
    covered[index] ? multiplyFractions(amount, factor) : amount,
  );
  const shares = shareOut(
    amountOff,
    left.map((amount, index) => (covered[index] ? amount : zeroFraction)),
  );
  return left.map((amount, index) => subtractFractions(amount, shares[index] ?? zeroFraction));
}

/**
 * Pro rata in whole minor units, as invoices do it: truncated shares, the remainder to the
 * largest (the first of equals). No share exceeds its amount: a coupon worth more makes it free.
 */
function shareOut(off: bigint, amounts: readonly Fraction[]): Fraction[] {
  const total = amounts.reduce(addFractions, zeroFraction);
  if (!isLess(fraction(off), total)) return [...amounts];
  const shares = amounts.map(
    ({ numerator, denominator }) =>
      (off * numerator * total.denominator) / (denominator * total.numerator),
  );
  const remainder = shares.reduce((left, share) => left - share, off);
  const largest = amounts.reduce((best, amount) => (isLess(best, amount) ? amount : best));
  const taker = amounts.indexOf(largest);
  return amounts.map((amount, index) => {
    const share = fraction((shares[index] ?? 0n) + (index === taker ? remainder : 0n));
    return isLess(amount, share) ? amount : share;
  });
}

function isLess(one: Fraction, other: Fraction): boolean {
  return one.numerator * other.denominator < other.numerator * one.denominator;
}
