/** Ranges of days by name, all in UTC and half-open, and the ranges they are compared with. */
import type { Interval } from "../../schemas/http/series.js";

export interface Range {
  /** `YYYY-MM-DD`, the first day. */
  readonly from: string;
  /** The day after the last. */
  readonly to: string;
}

export const ranges = {
  today: "Today",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  mtd: "This month",
  lastmonth: "Last month",
  "3m": "Last 3 months",
  ytd: "This year",
  "12m": "Last 12 months",
  "24m": "Last 24 months",
} as const;
export type RangeName = keyof typeof ranges;

export function isRangeName(name: string): name is RangeName {
  return Object.hasOwn(ranges, name);
}

/** Of the calendar, too: there is no 31 February. */
export function isDay(text: string): boolean {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(ms) && dayText(ms) === text;
}

/** @param end ms since 1970: ranges end with its day */
export function rangeOf(
  name: RangeName | "own",
  end: number,
  ownFrom: string | null,
  ownTo: string | null,
): Range {
  const now = new Date(end);
  const year = now.getUTCFullYear();
  const month = now.getUTCMonth();
  const day = now.getUTCDate();
  const to = dayText(Date.UTC(year, month, day + 1));
  const range = (from: number, until = to): Range => ({ from: dayText(from), to: until });
  switch (name) {
    case "own":
      return { from: ownFrom ?? to, to: ownTo ?? to };
    case "today":
      return range(Date.UTC(year, month, day));
    case "7d":
      return range(Date.UTC(year, month, day - 6));
    case "30d":
      return range(Date.UTC(year, month, day - 29));
    case "mtd":
      return range(Date.UTC(year, month, 1));
    case "lastmonth":
      return range(Date.UTC(year, month - 1, 1), dayText(Date.UTC(year, month, 1)));
    case "3m":
      return range(Date.UTC(year, month - 2, 1));
    case "ytd":
      return range(Date.UTC(year, 0, 1));
    case "12m":
      return range(Date.UTC(year, month - 11, 1));
    case "24m":
      return range(Date.UTC(year, month - 23, 1));
    default:
      return name satisfies never;
  }
}

/**
 * As the interface is asked for it: of months that are counted, the last one whole, so that it is
 * compared with months too. Figures end with what has happened all the same.
 */
export function askedRange(name: RangeName | "own", range: Range): Range {
  if (!ofMonths.includes(name)) return range;
  const last = new Date(dayBefore(range.to));
  return { ...range, to: dayText(Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + 1, 1)) };
}

const ofMonths: readonly string[] = ["mtd", "lastmonth", "3m", "ytd", "12m", "24m"];

export function comparedRange(range: Range, comparison: string): Range | null {
  if (comparison === "year") {
    return { from: monthsBefore(range.from, 12), to: monthsBefore(range.to, 12) };
  }
  if (comparison !== "previous") return null;
  // Whole months are compared with as many months, everything else with as many days.
  const months = wholeMonths(range);
  if (months !== null) return { from: monthsBefore(range.from, months), to: range.from };
  const length = Date.parse(range.to) - Date.parse(range.from);
  return { from: dayText(Date.parse(range.from) - length), to: range.from };
}

/** So that a chart has some 12 to 60 columns. */
export function intervalFor(range: Range): Interval {
  const days = daysOf(range);
  if (days <= 45) return "day";
  if (days <= 200) return "week";
  return "month";
}

function daysOf(range: Range): number {
  return Math.round((Date.parse(range.to) - Date.parse(range.from)) / dayMs);
}

export function dayBefore(day: string): string {
  return dayText(Date.parse(day) - dayMs);
}

export function dayAfter(day: string): string {
  return dayText(Date.parse(day) + dayMs);
}

/** @param ms since 1970 */
export function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

const dayMs = 24 * 60 * 60 * 1000;

/** From the first of a month; the last one may still be running. */
function wholeMonths({ from, to }: Range): number | null {
  if (!from.endsWith("-01")) return null;
  const last = dayBefore(to);
  const months =
    (Number(last.slice(0, 4)) - Number(from.slice(0, 4))) * 12 +
    (Number(last.slice(5, 7)) - Number(from.slice(5, 7))) +
    1;
  return daysOf({ from, to }) >= 28 ? months : null;
}

function monthsBefore(day: string, months: number): string {
  const date = new Date(day);
  const shifted = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - months, 1));
  const last = new Date(
    Date.UTC(shifted.getUTCFullYear(), shifted.getUTCMonth() + 1, 0),
  ).getUTCDate();
  shifted.setUTCDate(Math.min(date.getUTCDate(), last));
  return dayText(shifted.getTime());
}
