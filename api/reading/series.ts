/** The intervals of a series: half-open, UTC, cut to what was asked for and to `at`. Pure. */
import { unprocessable } from "../../schemas/http/errors.js";
import { limits } from "../../config.js";
import { type Interval, intervals, intervalsDefault } from "../../schemas/http/series.js";
import type { AsOf } from "./as-of.js";
import { dayMs, intervalStart, isStartOfMonth, nextInterval, startOfDay } from "./calendar.js";

export interface Series {
  readonly interval: Interval;
  /** 00:00 of the first day. */
  readonly from: number;
  /** 00:00 of the day after the last. */
  readonly to: number;
  /** Oldest first, at least one. */
  readonly parts: readonly SeriesPart[];
  /** As asked, and nothing after the end of the series. */
  readonly asOf: AsOf;
}

/** ms since 1970, all at 00:00. */
export interface SeriesPart {
  /** Where the interval begins in the calendar: its name in queries. */
  readonly start: number;
  readonly from: number;
  readonly to: number;
}

export interface SeriesQuery {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly interval?: Interval | undefined;
}

/**
 * @param firstAt ms since 1970, the first row there is: a series that says not where it begins,
 *   begins no earlier
 * @throws ApiError 422 when nothing lies between `from` and `to`, or too many intervals do
 */
export function readSeries(query: SeriesQuery, asOf: AsOf, firstAt: number | null = null): Series {
  const interval = query.interval ?? "month";
  const dayAfter = startOfDay(asOf.at) + dayMs;
  const to = Math.min(query.to ?? dayAfter, dayAfter);
  const from = query.from ?? defaultFrom(interval, to, firstAt);
  if (from < 0) throw unprocessable("from_too_early", "Nothing is older than 1970.", "from");
  if (query.from === undefined && from >= to) {
    throw unprocessable("series_empty", "Nothing is older than 1970.", "to");
  }
  if (from >= to) {
    throw unprocessable("series_empty", "from must lie before to, and not after at.", "from");
  }
  const parts: SeriesPart[] = [];
  for (
    let start = intervalStart(interval, from);
    start < to;
    start = nextInterval(interval, start)
  ) {
    if (parts.length === limits.seriesIntervalsMax) throw tooLong(interval, "intervals");
    const end = nextInterval(interval, start);
    parts.push({ start, from: Math.max(start, from), to: Math.min(end, to) });
  }
  return { interval, from, to, parts, asOf: { ...asOf, at: Math.min(asOf.at, to - 1) } };
}

/** Its intervals are of whole months. */
export function isOfMonths({ interval, from }: Series): boolean {
  return interval !== "day" && interval !== "week" && isStartOfMonth(from);
}

/** @param day SQL of a date, as a projection has it @returns SQL of its interval's first day */
export function intervalSql(interval: Interval, day: string): string {
  return {
    day,
    week: `toMonday(${day})`,
    month: `toStartOfMonth(${day})`,
    quarter: `toStartOfQuarter(${day})`,
    year: `toStartOfYear(${day})`,
  }[interval];
}

/** @param what there is too much of: rows are intervals × groups */
export function tooLong(interval: Interval, what: "intervals" | "rows") {
  const max = what === "rows" ? limits.seriesRowsMax : limits.seriesIntervalsMax;
  const longer = intervals[intervals.indexOf(interval) + 1];
  const remedy =
    longer === undefined ? "a shorter time" : `interval=${longer} or longer, or for a shorter time`;
  return unprocessable(
    "series_too_long",
    `By ${interval} that is more than ${max.toLocaleString("en")} ${what}: ask for ${remedy}.`,
    "interval",
  );
}

function defaultFrom(interval: Interval, to: number, firstAt: number | null): number {
  const earliest = firstAt === null ? 0 : intervalStart(interval, Math.min(firstAt, to - 1));
  let from = intervalStart(interval, to - 1);
  for (let count = 1; count < intervalsDefault; count += 1)
    from = intervalStart(interval, from - 1);
  return Math.max(earliest, from, 0);
}
