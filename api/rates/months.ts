/** The months that rates are of, and those they are compared with. Pure. */
import {
  dayMs,
  isStartOfMonth,
  monthsBefore,
  nextInterval,
  startOfDay,
} from "../reading/calendar.js";
import { startOfMonth } from "../../schemas/months.js";
import type { AsOf } from "../reading/as-of.js";
import { type Series, type SeriesPart, readSeries } from "../reading/series.js";
import type { SummaryCompare } from "../summary/schema.js";
import type { RatesQuery } from "./schema.js";

/**
 * Those that begin in the given days; where none does, the one in which they end. Only the last one
 * may not be whole.
 * @param firstAt see `readSeries`
 */
export function readMonths(
  { from, to }: Pick<RatesQuery, "from" | "to">,
  asOf: AsOf,
  firstAt: number | null = null,
): Series {
  const days = readSeries({ from, to, interval: "month" }, asOf, firstAt);
  return monthsFrom(firstMonth(days), days.to, asOf);
}

/** It is over, and was asked for to its end. */
export function isWhole({ start, to }: SeriesPart, { asOf }: Series): boolean {
  return to === nextInterval("month", start) && to - 1 <= asOf.at;
}

/**
 * As many months just before, or those of the year before; a running month up to the same time.
 * @returns null where they would lie before 1970
 */
export function comparedMonths(
  months: Series,
  compare: SummaryCompare,
  knownAt: number | null,
): Series | null {
  const { asOf, parts } = months;
  if (compare === "known_then") return { ...months, asOf: { ...asOf, knownAt } };
  const back = compare === "previous_year" ? 12 : parts.length;
  const last = parts.at(-1);
  const from = monthsBefore(months.from, back);
  const to =
    last === undefined || isWhole(last, months)
      ? monthsBefore(months.to, back)
      : monthsBefore(asOf.at, back) + 1;
  if (from < 0) return null;
  return monthsFrom(from, startOfDay(to - 1) + dayMs, { ...asOf, at: to - 1 });
}

function monthsFrom(from: number, to: number, asOf: AsOf): Series {
  return readSeries({ from, to, interval: "month" }, asOf);
}

function firstMonth({ from, to }: Series): number {
  const next = isStartOfMonth(from) ? from : startOfMonth(from, 1);
  return next < to ? next : startOfMonth(to - 1);
}
