/** The model's calendar: UTC, ms since 1970 (`definitions.md`, MRR and Products). */

import { monthsAfter } from "../../ops/demo/calendar.js";

export type Period = "today" | "7d" | "30d" | "3m" | "12m" | "lifetime";
export const periods: readonly Period[] = ["today", "7d", "30d", "3m", "12m", "lifetime"];

export const dayMs = 24 * 60 * 60 * 1000;

/** Of the month before: the same time on the same day, or its last day when it has no such day. */
export function monthBefore(at: number): number {
  const isLastDay = new Date(at + dayMs).getUTCDate() === 1;
  return isLastDay ? monthsAfter(at + dayMs, -1) - dayMs : monthsAfter(at, -1);
}

/** The first moment of a period that ends at `at`. */
export function periodStart(period: Period, at: number): number {
  const today = startOfDay(at);
  switch (period) {
    case "today":
      return today;
    case "7d":
      return today - 6 * dayMs;
    case "30d":
      return today - 29 * dayMs;
    case "3m":
      return monthsAfter(today, -3);
    case "12m":
      return monthsAfter(today, -12);
    case "lifetime":
    default:
      return -Infinity;
  }
}

export type Interval = "day" | "week" | "month" | "quarter" | "year";

/** Every interval that has time in [from, to), cut to it; `start` is where it begins uncut. */
export function intervalsBetween(from: number, to: number, interval: Interval) {
  const found: { readonly start: number; readonly from: number; readonly to: number }[] = [];
  let start = from;
  for (let day = startOfDay(from); ; day -= dayMs) {
    start = day;
    if (begins(day, interval)) break;
  }
  while (start < to) {
    let end = start + dayMs;
    while (!begins(end, interval)) end += dayMs;
    found.push({ start, from: Math.max(start, from), to: Math.min(end, to) });
    start = end;
  }
  return found;
}

/** Whether an interval begins on that day. */
function begins(day: number, interval: Interval): boolean {
  const date = new Date(day);
  const isFirst = date.getUTCDate() === 1;
  switch (interval) {
    case "day":
      return true;
    case "week":
      return date.getUTCDay() === 1;
    case "month":
      return isFirst;
    case "quarter":
      return isFirst && date.getUTCMonth() % 3 === 0;
    case "year":
    default:
      return isFirst && date.getUTCMonth() === 0;
  }
}

/** "2026-01-01 2026-02-01" */
export function daysOf(from: number, to: number): string {
  return [from, to].map((time) => new Date(time).toISOString().slice(0, 10)).join(" ");
}

export function startOfDay(at: number): number {
  return Math.floor(at / dayMs) * dayMs;
}
