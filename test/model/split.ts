/** Splitting an amount by weights, cent by cent. */
import type { Line } from "./facts.js";

/** The first of the largest. */
export function largest(lines: readonly Line[]): Line {
  const none: Line = { sku: "", weight: 0n };
  return lines.reduce((best, line) => (line.weight > best.weight ? line : best), lines[0] ?? none);
}

/** Towards zero each, the rest to the largest; all to the largest when the lines sum to nothing. */
export function split(total: bigint, lines: readonly Line[]): bigint[] {
  const sum = lines.reduce((all, { weight }) => all + weight, 0n);
  const shares = lines.map(({ weight }) => (sum > 0n ? (total * weight) / sum : 0n));
  const rest = total - shares.reduce((all, share) => all + share, 0n);
  const main = lines.indexOf(largest(lines));
  return shares.map((share, index) => (index === main ? share + rest : share));
}
