/**
 * What interval a subscription is billed by, where the provider reports only when a period begins
 * and ends (`definitions.md`, MRR: a period reported only by its two ends).
 */
import type { BillingPeriod } from "./monthly.js";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
/** Hundredths of a day: a twelfth of a year of 365.25 days. */
const averageMonthMs = (3044 * dayMs) / 100;
const toleranceMs = 3 * dayMs;

/**
 * @param startMs ms since 1970, as `endMs`; days are those of UTC
 * @returns null when the period does not end after it starts
 */
export function billingPeriodBetween(startMs: number, endMs: number): BillingPeriod | null {
  const lengthMs = endMs - startMs;
  if (!(lengthMs > 0)) return null;
  const months = calendarMonths(startMs, endMs);
  if (months !== null) return ofMonths(months);
  const days = Math.max(1, Math.round(lengthMs / dayMs));
  if (days % 7 === 0) return { interval: "week", intervalCount: BigInt(days / 7) };
  const about = Math.max(1, Math.round(lengthMs / averageMonthMs));
  if (Math.abs(lengthMs - about * averageMonthMs) <= toleranceMs) return ofMonths(about);
  return { interval: "day", intervalCount: BigInt(days) };
}

function ofMonths(months: number): BillingPeriod {
  return months % 12 === 0
    ? { interval: "year", intervalCount: BigInt(months / 12) }
    : { interval: "month", intervalCount: BigInt(months) };
}

/**
 * Whole calendar months, or null. Stores count them in a zone with summer time, so that an end may
 * come an hour early or late and then, around midnight, on a neighbouring day of UTC. Whole days
 * have no such hour: 63 of them are nine weeks, and not two months a day late.
 */
function calendarMonths(startMs: number, endMs: number): number | null {
  const daysMs = Math.round((endMs - startMs) / dayMs) * dayMs;
  const isWholeDays = Math.abs(endMs - startMs - daysMs) < hourMs / 2;
  for (const shiftMs of isWholeDays ? [0] : [0, hourMs, -hourMs]) {
    const start = dayOf(startMs);
    const end = dayOf(endMs + shiftMs);
    const months = end.month - start.month;
    const fits = start.day === end.day || (end.isLast && (start.day >= end.day || start.isLast));
    if (months > 0 && fits) return months;
  }
  return null;
}

/** The month counted from year 0, the day in it, and whether that is its last. */
function dayOf(ms: number): { month: number; day: number; isLast: boolean } {
  const date = new Date(ms);
  return {
    month: date.getUTCFullYear() * 12 + date.getUTCMonth(),
    day: date.getUTCDate(),
    isLast: new Date(ms + dayMs).getUTCDate() === 1,
  };
}
