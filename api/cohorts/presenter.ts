/** Cohorts (`definitions.md`), from the changes of MRR or accounts by vintage and month. */
import { grouped } from "../../runtime/lists.js";
import type {
  AccountCohort,
  AccountCohortAverage,
  Cohort,
  CohortAverage,
  CohortInterval,
} from "./schema.js";
import { intervalMonths } from "../reading/calendar.js";
import { monthText } from "../../schemas/months.js";
import type { CohortRow } from "./query.js";
import { type Vintages, intervalNumber } from "./vintages.js";
import { percent, showMrr } from "../reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";

/** The wanted vintages, and the changes of what is retained. */
export interface CohortsRead {
  readonly rows: readonly CohortRow[];
  /** The same as far as accounts began with them; null: not asked for. */
  readonly gross: readonly CohortRow[] | null;
  readonly vintages: Vintages;
}

interface Shown {
  /** ms since 1970; the curves run to its month (quarter, year). */
  readonly at: number;
  readonly currency: string;
  readonly interval?: CohortInterval | undefined;
}

/**
 * @returns oldest vintage first, without those that began with nothing because their accounts were
 *   corrected
 */
export function presentCohorts(
  { rows, gross, vintages }: CohortsRead,
  { at, currency, interval = "month" }: Shown,
): Cohort[] {
  const kept = new Map(
    curvesOf(gross ?? [], at, interval, vintages).map((each) => [each.vintage, each]),
  );
  return curvesOf(rows, at, interval, vintages).map(({ vintage, starting, curve }) => {
    const keptCurve = kept.get(vintage)?.curve ?? [];
    return {
      vintage: vintageText(vintage, interval),
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
  { rows, vintages }: CohortsRead,
  { at, interval = "month" }: Shown,
): AccountCohort[] {
  return curvesOf(rows, at, interval, vintages).map(({ vintage, starting, curve }) => ({
    vintage: vintageText(vintage, interval),
    starting_accounts: Number(starting / wholeOne),
    retention_percentage: curve.at(-1) ?? 100,
    retention_curve: curve,
  }));
}

/** Weighted by what each vintage began with. */
export function presentAverage(
  { rows, gross, vintages }: CohortsRead,
  { at, currency, interval = "month" }: Shown,
  basis: "accounts" | "mrr",
): CohortAverage | AccountCohortAverage {
  const averageOf = (curves: readonly Curve[]) => averageCurve(curves, at, interval);
  const curves = curvesOf(rows, at, interval, vintages);
  const starting = startOf(curves);
  return {
    vintages: curves.length,
    ...(basis === "accounts"
      ? { starting_accounts: Number(starting / wholeOne) }
      : { starting_mrr: showMrr(starting, currency) }),
    retention_curve: averageOf(curves),
    ...(gross === null
      ? {}
      : { gross_retention_curve: averageOf(curvesOf(gross, at, interval, vintages)) }),
  };
}

/**
 * At each age: what the vintages that are that old have left, of what these began with. As with
 * monthly rates, an unfinished interval is not counted, because in it nobody had time to leave.
 */
function averageCurve(curves: readonly Curve[], at: number, interval: CohortInterval): number[] {
  const over = intervalNumber(at + 1, interval) - 1;
  const average = curves.length === 0 ? [] : [100];
  for (let age = 1; ; age += 1) {
    const old = curves.filter(({ vintage }) => vintage + age <= over);
    if (old.length === 0) return average;
    const left = old.reduce((sum, { mrr }) => sum + (mrr[age] ?? 0n), 0n);
    average.push(percent(left, startOf(old), 1));
  }
}

function startOf(curves: readonly Curve[]): bigint {
  return curves.reduce((sum, { starting }) => sum + starting, 0n);
}

/** One account, counted like MRR in millionths. */
const wholeOne = mrrOf("1");

interface Curve {
  readonly vintage: number;
  /** millionths, like those of each age in `mrr` */
  readonly starting: bigint;
  readonly mrr: readonly bigint[];
  readonly curve: number[];
}

function curvesOf(
  rows: readonly CohortRow[],
  at: number,
  interval: CohortInterval,
  { first, end }: Vintages,
): Curve[] {
  const vintages = grouped(rows, (row) => numberOf(row.vintage, interval));
  const last = intervalNumber(at, interval);
  return [...vintages]
    .filter(([vintage]) => vintage >= first && vintage < end)
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
  let left = changes.get(vintage) ?? 0n;
  // By definition, whatever else the accounts did in their first month.
  const mrr = [starting];
  for (let time = vintage + 1; time <= last; time += 1) {
    left += changes.get(time) ?? 0n;
    mrr.push(left);
  }
  return { vintage, starting, mrr, curve: mrr.map((one) => percent(one, starting, 1)) };
}

/** @param day `YYYY-MM-DD` */
function numberOf(day: string, interval: CohortInterval): number {
  return intervalNumber(Date.parse(`${day}T00:00:00Z`), interval);
}

function vintageText(vintage: number, interval: CohortInterval): string {
  const month = monthText(vintage * intervalMonths[interval]);
  if (interval === "month") return month;
  const year = month.slice(0, 4);
  return interval === "year" ? year : `${year}-Q${(vintage % 4) + 1}`;
}
