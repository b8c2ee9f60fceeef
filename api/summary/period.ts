/** The time of a summary, and the one it is compared with. Pure. */
import type { SummaryCompare, SummaryQuery } from "./schema.js";
import { summaryDays } from "./schema.js";
import { malformed } from "../../schemas/http/errors.js";
import { type AsOf, type Clocks, checkKnownAt } from "../reading/as-of.js";
import { dayMs, isStartOfMonth, monthsBefore } from "../reading/calendar.js";
import { monthNumber } from "../../schemas/months.js";
import { type Series, readSeries } from "../reading/series.js";

export interface Period {
  /** ms since 1970; the first moment of the days, or the one the rates look back to */
  readonly since: number;
  /** ms since 1970: where it ends, at most `at` */
  readonly until: number;
  /** The last moment before the period: rates are relative to its balance. */
  readonly before: number;
  /** As asked, and nothing after the period. */
  readonly asOf: AsOf;
  readonly series: Series | null;
}

type Days = Pick<SummaryQuery, "from" | "to" | "interval">;

/** @param firstAt see `readSeries` */
export function readPeriod(query: Days, asOf: AsOf, firstAt: number | null = null): Period {
  const { interval } = query;
  if (query.from === undefined && query.to === undefined && interval === undefined) {
    return rolling(asOf);
  }
  const from =
    query.from === undefined && query.to !== undefined && interval === undefined
      ? Math.max(0, query.to - summaryDays * dayMs)
      : query.from;
  // For days alone no interval is shown, and years are the fewest.
  const series = readSeries({ from, to: query.to, interval: interval ?? "year" }, asOf, firstAt);
  return periodOf(series, asOf.at);
}

/** @param at the moment that was asked for, which may be after the series */
export function periodOf(series: Series, at: number): Period {
  return {
    since: series.from,
    until: Math.min(series.to, at),
    before: Math.max(0, series.from - 1),
    asOf: series.asOf,
    series,
  };
}

/** @throws ApiError 400 when one of the two parameters is given without the other */
export function checkComparison(
  query: Pick<SummaryQuery, "compare" | "compare_known_at">,
  clocks: Clocks,
): void {
  const { compare, compare_known_at: knownAt } = query;
  if (knownAt !== undefined) checkKnownAt(knownAt, clocks, "compare_known_at");
  if ((compare === "known_then") === (knownAt !== undefined)) return;
  throw malformed(
    "parameter_missing",
    "compare=known_then and compare_known_at belong together.",
    knownAt === undefined ? "compare_known_at" : "compare",
  );
}

function rolling(asOf: AsOf): Period {
  const since = Math.max(0, asOf.at - summaryDays * dayMs);
  return { since, until: asOf.at, before: since, asOf, series: null };
}

/**
 * @param query of the period that is compared
 * @returns null where it would lie before 1970
 */
export function comparedPeriod(
  period: Period,
  query: Days,
  compare: SummaryCompare,
  knownAt: number | null,
): Period | null {
  const { asOf, series } = period;
  if (compare === "known_then") {
    const then = { ...asOf, knownAt };
    return { ...period, asOf: then, series: series && { ...series, asOf: then } };
  }
  if (series === null) {
    const at = compare === "previous_year" ? monthsBefore(asOf.at, 12) : period.since;
    return at <= 0 ? null : rolling({ ...asOf, at });
  }
  const { from, to } = series;
  const months = compare === "previous_year" ? 12 : wholeMonths(from, query.to ?? to);
  const earlier =
    months === null
      ? { from: from - (to - from), to: from, at: from }
      : {
          from: monthsBefore(from, months),
          to: monthsBefore(to, months),
          // As far into its days as the period itself.
          at: monthsBefore(period.until, months),
        };
  if (earlier.from < 0) return null;
  const { interval } = query;
  return readPeriod(
    { from: earlier.from, to: earlier.to, interval },
    { ...asOf, at: Math.max(earlier.at, earlier.from) },
  );
}

/** How many calendar months these days are; null: not whole ones. */
function wholeMonths(from: number, to: number): number | null {
  return isStartOfMonth(from) && isStartOfMonth(to) ? monthNumber(to) - monthNumber(from) : null;
}
