/** The period of the figures of products, and the period they are compared with. Pure. */
import type { AsOf } from "../reading/as-of.js";
import { dayMs, monthsBefore, periodStart } from "../reading/calendar.js";
import type { PinnedAsOf } from "../reading/pages.js";
import type { SummaryCompare } from "../summary/schema.js";
import type { Period } from "./schema.js";

export interface ProductsTime {
  readonly asOf: PinnedAsOf;
  /** 00:00 of the first day, ms since 1970; null: from the beginning */
  readonly since: number | null;
}

export function timeOf(period: Period, asOf: PinnedAsOf): ProductsTime {
  return { asOf, since: periodStart(period, asOf.at) };
}

/**
 * As far into its last day as the period itself.
 * @returns null where there is none before it: all time, and before 1970
 */
export function comparedTime(
  period: Period,
  asOf: PinnedAsOf,
  compare: SummaryCompare,
  knownAt: number | null,
): ProductsTime | null {
  if (compare === "known_then") {
    return knownAt === null ? null : timeOf(period, { ...asOf, knownAt });
  }
  const at = compare === "previous_year" ? monthsBefore(asOf.at, 12) : periodBefore(period, asOf);
  return at === null || at < 0 ? null : timeOf(period, { ...asOf, at });
}

function periodBefore(period: Period, { at }: Pick<AsOf, "at">): number | null {
  switch (period) {
    case "today":
      return at - dayMs;
    case "7d":
      return at - 7 * dayMs;
    case "30d":
      return at - 30 * dayMs;
    case "3m":
      return monthsBefore(at, 3);
    case "12m":
      return monthsBefore(at, 12);
    case "lifetime":
      return null;
    default:
      return period satisfies never;
  }
}
