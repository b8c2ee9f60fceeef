/** Cohorts (`definitions.md`, Cohorts), from the changes of MRR by vintage and month. */
import type { Cohort } from "../../schemas/http-cohorts.js";
import { monthNumber, monthText } from "../calendar.js";
import type { CohortRow } from "../queries/cohorts.js";
import { mrrOf, percent, showMrr } from "./amounts.js";

/**
 * @param at ms since 1970; the curves run to its month
 * @returns oldest vintage first; vintages that began with nothing (their accounts' past was told
 *   anew) are none
 */
export function presentCohorts(rows: readonly CohortRow[], at: number, currency: string): Cohort[] {
  const vintages = new Map<number, CohortRow[]>();
  for (const row of rows) {
    const vintage = monthOf(row.vintage);
    const sameVintage = vintages.get(vintage);
    if (sameVintage) sameVintage.push(row);
    else vintages.set(vintage, [row]);
  }
  return [...vintages]
    .sort(([one], [other]) => one - other)
    .map(([vintage, changes]) => presentCohort(vintage, changes, monthNumber(at), currency))
    .filter((cohort) => cohort !== null);
}

function presentCohort(
  vintage: number,
  rows: readonly CohortRow[],
  lastMonth: number,
  currency: string,
): Cohort | null {
  const starting = rows.reduce((sum, row) => sum + mrrOf(row.started), 0n);
  if (starting <= 0n) return null;
  const changes = new Map(rows.map((row) => [monthOf(row.month), mrrOf(row.change)]));
  let mrr = changes.get(vintage) ?? 0n;
  // By definition, whatever else the accounts did in their first month.
  const curve = [100];
  for (let month = vintage + 1; month <= lastMonth; month += 1) {
    mrr += changes.get(month) ?? 0n;
    curve.push(percent(mrr, starting, 1));
  }
  return {
    vintage: monthText(vintage),
    starting_mrr: showMrr(starting, currency),
    nrr_percentage: curve.at(-1) ?? 100,
    retention_curve: curve,
  };
}

/** @param day `YYYY-MM-DD` */
function monthOf(day: string): number {
  return monthNumber(Date.parse(`${day}T00:00:00Z`));
}
