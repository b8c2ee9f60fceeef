/** The MRR metric (`definitions.md`, MRR), from sums by provider at two moments. */
import type { MrrAnswer } from "./schema.js";
import type { MrrRow } from "./query.js";
import { mrrOf, percent, showMrr } from "../reading/amounts.js";

/** @param then as of a month before; see `growthThen` */
export function presentMrr(
  now: readonly MrrRow[],
  then: readonly Pick<MrrRow, "mrr">[],
  currency: string,
): MrrAnswer["data"] {
  const current = sum(now.map((row) => mrrOf(row.mrr)));
  const previous = sum(then.map((row) => mrrOf(row.mrr)));
  return {
    current_mrr: showMrr(current, currency),
    currency,
    growth_mom_pct: previous === 0n ? 0 : percent(current - previous, previous, 2),
    previous_mrr: showMrr(previous, currency),
    active_subscribers: Number(sum(now.map((row) => BigInt(row.accounts)))),
    breakdown_by_provider: Object.fromEntries(
      now
        .filter((row) => mrrOf(row.mrr) > 0n)
        .map((row) => [row.provider, showMrr(mrrOf(row.mrr), currency)]),
    ),
  };
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
