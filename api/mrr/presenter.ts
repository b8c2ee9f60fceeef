/** The MRR metric (`definitions.md`, MRR), from sums by provider at two moments. */
import type { MrrAnswer } from "./schema.js";
import type { MrrPairRow } from "./query.js";
import { percent, showMrr } from "../reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";

export function presentMrr(rows: readonly MrrPairRow[], currency: string): MrrAnswer["data"] {
  const current = sum(rows.map((row) => mrrOf(row.mrr)));
  const previous = sum(rows.map((row) => mrrOf(row.previous)));
  return {
    current_mrr: showMrr(current, currency),
    currency,
    growth_mom_pct: previous === 0n ? 0 : percent(current - previous, previous, 2),
    previous_mrr: showMrr(previous, currency),
    active_subscribers: Number(sum(rows.map((row) => BigInt(row.accounts)))),
    breakdown_by_provider: Object.fromEntries(
      rows
        .filter((row) => mrrOf(row.mrr) > 0n)
        .map((row) => [row.provider, showMrr(mrrOf(row.mrr), currency)]),
    ),
  };
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
