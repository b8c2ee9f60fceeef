/** Cohorts (`definitions.md`), from the changes of MRR or accounts by vintage and month. */
import { grouped } from "../../runtime/grouped.js";
import type { AccountCohort, Cohort, CohortInterval } from "./schema.js";
import { intervalMonths, monthNumber, monthText } from "../reading/calendar.js";
import type { CohortRow } from "./query.js";
import { percent, showMrr } from "../reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";

/**
 * @param at ms since 1970; the curves run to its month (quarter, year)
 * @param gross the same changes as far as accounts began with them; null: not asked for
 * @returns oldest vintage first; vintages that began with nothing (their accounts' past was
 * reported anew) are none
 */
export function presentCohorts(
  rows: readonly CohortRow[],
  at: number,
  currency: string,
  interval: CohortInterval = "month",
  gross: readonly CohortRow[] | null = null,
): Cohort[] {
  const kept = new Map(curvesOf(gross ?? [], at, interval).map((each) => [each.vintage, each]));
  return curvesOf(rows, at, interval).map(({ vintage, starting, curve }) => {
    const keptCurve = kept.get(vintage)?.curve ?? [];
    return {
      vintage,
      starting_mrr: showMrr(starting, currency),
      nrr_percentage: curve.at(-1) ?? 100,
      retention_curve: curve,
      ...(gross === null
        ? {}
        : { grr_percentage: keptCurve.at(-1) ?? 100, gross_retention_curve: keptCurve }),
    };
  });
}

export function presentAccountCohorts(
  rows: readonly CohortRow[],
  at: number,
  interval: CohortInterval = "month",
): AccountCohort[] {
  return curvesOf(rows, at, interval).map(({ vintage, starting, curve }) => ({
    vintage,
    starting_accounts: Number(starting / wholeOne),
    retention_percentage: curve.at(-1) ?? 100,
    retention_curve: curve,
  }));
}

/** One account, counted like MRR in millionths. */
const wholeOne = mrrOf("1");

interface Curve {
  readonly vintage: string;
  /** millionths */
  readonly starting: bigint;
  readonly curve: number[];
}

function curvesOf(rows: readonly CohortRow[], at: number, interval: CohortInterval): Curve[] {
  const vintages = grouped(rows, (row) => numberOf(row.vintage, interval));
  const last = Math.floor(monthNumber(at) / intervalMonths[interval]);
  return [...vintages]
    .sort(([one], [other]) => one - other)
    .map(([vintage, changes]) => curveOf(vintage, changes, last, interval))
    .filter((curve) => curve !== null);
}

function curveOf(
  vintage: number,
  rows: readonly CohortRow[],
  last: number,
  interval: CohortInterval,
): Curve | null {
  const starting = rows.reduce((sum, row) => sum + mrrOf(row.started), 0n);
  if (starting <= 0n) return null;
  const changes = new Map<number, bigint>();
  for (const row of rows) {
    const time = numberOf(row.month, interval);
    changes.set(time, (changes.get(time) ?? 0n) + mrrOf(row.change));
  }
  let mrr = changes.get(vintage) ?? 0n;
  // By definition, whatever else the accounts did in their first month.
  const curve = [100];
  for (let time = vintage + 1; time <= last; time += 1) {
    mrr += changes.get(time) ?? 0n;
    curve.push(percent(mrr, starting, 1));
  }
  return { vintage: vintageText(vintage, interval), starting, curve };
}

/** Intervals since the year 0. @param day `YYYY-MM-DD` */
function numberOf(day: string, interval: CohortInterval): number {
  return Math.floor(monthNumber(Date.parse(`${day}T00:00:00Z`)) / intervalMonths[interval]);
}

function vintageText(vintage: number, interval: CohortInterval): string {
  const month = monthText(vintage * intervalMonths[interval]);
  if (interval === "month") return month;
  const year = month.slice(0, 4);
  return interval === "year" ? year : `${year}-Q${(vintage % 4) + 1}`;
}
