/** How often a plan is billed, as people tell plans apart; all else is `other`. */
import type { BillingPeriod } from "./monthly.js";

/** In the order of lists. `unknown`: of what was booked before facts reported it. */
export const planIntervals = [
  "week",
  "month",
  "quarter",
  "half_year",
  "year",
  "other",
  "unknown",
] as const;
export type PlanInterval = (typeof planIntervals)[number];

/** 12 months are a year, 7 days a week; 30 days are no month, since the price counts by days. */
export function planIntervalOf({ interval, intervalCount: count }: BillingPeriod): PlanInterval {
  switch (interval) {
    case "month":
      return ofMonths.get(count) ?? "other";
    case "year":
      return count === 1n ? "year" : "other";
    case "week":
      return count === 1n ? "week" : "other";
    case "day":
      return count === 7n ? "week" : "other";
    default:
      return interval satisfies never;
  }
}

const ofMonths: ReadonlyMap<bigint, PlanInterval> = new Map([
  [1n, "month"],
  [3n, "quarter"],
  [6n, "half_year"],
  [12n, "year"],
]);
