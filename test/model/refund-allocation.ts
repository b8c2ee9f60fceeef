/** What each product of a sale gave back, by brute force: cent by cent where parts do not fit. */
import type { Line } from "./facts.js";
import { sumOf } from "./fraction.js";
import { largest, split } from "./split.js";

/**
 * @param sold of the whole sale, in the same minor units as all others
 * @param total of it that is out
 * @param named what went out by name, by product
 * @returns by product; together they are `total`
 */
export function returnedBy(
  sold: bigint,
  lines: readonly Line[],
  total: bigint,
  named: ReadonlyMap<string, bigint>,
): Map<string, bigint> {
  const brought = split(sold, lines);
  const others = [...named.keys()].filter((sku) => lines.every((line) => line.sku !== sku));
  const all = [
    ...lines.map((line, index) => ({ ...line, sold: brought[index] ?? 0n })),
    ...others.map((sku) => ({ sku, weight: 0n, sold: 0n })),
  ];
  const own = all.map(({ sku }) => positive(named.get(sku) ?? 0n));
  if (total < sold) return bySku(all, within(total, all, own));
  const beyond = all.map(({ sku, weight }, index) => {
    return { sku, weight: named.size > 0 ? (own[index] ?? 0n) : weight };
  });
  const more = total === sold ? [] : split(total - sold, beyond);
  return bySku(
    all,
    all.map((line, index) => line.sold + (more[index] ?? 0n)),
  );
}

interface SoldLine extends Line {
  readonly sold: bigint;
}

function within(total: bigint, lines: readonly SoldLine[], named: readonly bigint[]): bigint[] {
  const rest = total - sumOf(named);
  if (rest < 0n) {
    const weighed = lines.map(({ sku }, index) => ({ sku, weight: named[index] ?? 0n }));
    return within(total, lines, split(total, weighed));
  }
  const plain = split(rest, lines).map((share, index) => share + (named[index] ?? 0n));
  if (lines.every((line, index) => line.weight < 0n || (plain[index] ?? 0n) <= line.sold)) {
    return plain;
  }
  return fitted(total, lines, named);
}

/** Whoever has no room for its part is full; the others begin again without it. */
function fitted(total: bigint, lines: readonly SoldLine[], named: readonly bigint[]): bigint[] {
  const full = new Set<SoldLine>();
  for (;;) {
    const fixed = lines.map((line, index) => (full.has(line) ? line.sold : (named[index] ?? 0n)));
    const rest = total - sumOf(fixed);
    const open = lines.filter((line) => !full.has(line));
    const weights = sumOf(open.map(({ weight }) => weight));
    const tight = open.find((line) => {
      const room = line.sold - (named[lines.indexOf(line)] ?? 0n);
      if (line.weight < 0n) return false;
      return room < 0n || (weights > 0n && room * weights < rest * line.weight);
    });
    if (tight === undefined) {
      const parts = lines.map((line, index) =>
        full.has(line) || weights <= 0n
          ? (fixed[index] ?? 0n)
          : (fixed[index] ?? 0n) + (rest * line.weight) / weights,
      );
      return withCents(total, lines, parts);
    }
    full.add(tight);
  }
}

/** One by one to the largest that has room for it. */
function withCents(total: bigint, lines: readonly SoldLine[], parts: readonly bigint[]): bigint[] {
  const all = [...parts];
  for (let left = total - sumOf(all); left !== 0n; left = total - sumOf(all)) {
    const roomy = lines.filter((line, index) => left > 0n && (all[index] ?? 0n) < line.sold);
    const taker = lines.findIndex(({ sku }) => sku === largest(roomy).sku);
    const index = taker < 0 ? lines.findIndex(({ sku }) => sku === largest(lines).sku) : taker;
    all[index] = (all[index] ?? 0n) + (left > 0n ? 1n : -1n);
  }
  return all;
}

function bySku(lines: readonly Line[], shares: readonly bigint[]): Map<string, bigint> {
  return new Map(lines.map(({ sku }, index) => [sku, shares[index] ?? 0n]));
}

function positive(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}
