/** The beginning of a series and its intervals, as SQL. */
import { isStartOfMonth } from "./calendar.js";
import type { Interval } from "../../schemas/http/series.js";

/** 00:00 of the first day, ms since 1970 in the parameter `from`. */
export const fromSql = "fromUnixTimestamp64Milli({from:Int64}, 'UTC')";

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

/** Intervals from that moment on, ms since 1970, are of whole months. */
export function isWholeMonths(interval: Interval, from: number): boolean {
  return interval !== "day" && interval !== "week" && isStartOfMonth(from);
}
