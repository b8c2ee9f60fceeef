/** The UTC calendar of `definitions.md`: periods, months, "the same day of the month before". */
import type { Period } from "../products/schema.js";
import type { Interval } from "../../schemas/http/series.js";
import { monthNumber, startOfMonth } from "../../schemas/months.js";

export const dayMs = 24 * 60 * 60 * 1000;

/** @returns 00:00 of the period's first day, ms since 1970; null for `lifetime` */
export function periodStart(period: Period, at: number): number | null {
  return starts[period](at);
}

const starts: Readonly<Record<Period, (at: number) => number | null>> = {
  today: startOfDay,
  "7d": (at) => startOfDay(at) - 6 * dayMs,
  "30d": (at) => startOfDay(at) - 29 * dayMs,
  "3m": (at) => startOfDay(monthsBefore(at, 3)),
  "12m": (at) => startOfDay(monthsBefore(at, 12)),
  lifetime: () => null,
};

/** What MRR growth compares with: from the last day of a month always to the last day. */
export function growthThen(at: number): number {
  const date = new Date(at);
  const isLastDay = date.getUTCDate() === daysInMonth(date.getUTCFullYear(), date.getUTCMonth());
  return isLastDay ? monthsBefore(at, 1, 31) : monthsBefore(at, 1);
}

export function startOfDay(at: number): number {
  return Math.floor(at / dayMs) * dayMs;
}

/** 00:00 of the first day of the interval that moment lies in; weeks begin on Monday. */
export function intervalStart(interval: Interval, at: number): number {
  if (interval === "day") return startOfDay(at);
  // 1970-01-01 was a Thursday, three days after a Monday.
  if (interval === "week") return startOfDay(at) - ((Math.floor(at / dayMs) + 3) % 7) * dayMs;
  const months = intervalMonths[interval];
  const first = Math.floor(monthNumber(at) / months) * months;
  return Date.UTC(Math.floor(first / 12), first % 12);
}

/** Where the interval after the one that begins at `start` begins. */
export function nextInterval(interval: Interval, start: number): number {
  if (interval === "day") return start + dayMs;
  if (interval === "week") return start + 7 * dayMs;
  return startOfMonth(start, intervalMonths[interval]);
}

export const intervalMonths = { month: 1, quarter: 3, year: 12 } as const;

export function isStartOfMonth(at: number): boolean {
  return startOfMonth(at) === at;
}

/** The month's end is nearer than its beginning. */
export function isLateInMonth(at: number): boolean {
  return 2 * at > startOfMonth(at) + startOfMonth(at, 1);
}

/** The same time on `day` that many months earlier, or on the month's last day when shorter. */
export function monthsBefore(at: number, months: number, day = new Date(at).getUTCDate()): number {
  const first = new Date(startOfMonth(at, -months));
  const days = daysInMonth(first.getUTCFullYear(), first.getUTCMonth());
  return first.getTime() + (Math.min(day, days) - 1) * dayMs + (at - startOfDay(at));
}

function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
}
