/** The wanted vintages, and those they are compared with. Pure. */
import { dayMs, intervalMonths } from "../reading/calendar.js";
import { monthNumber } from "../../schemas/months.js";
import type { SummaryCompare } from "../summary/schema.js";
import type { CohortInterval } from "./schema.js";

/** Months (quarters, years) since the year 0; the end is exclusive. */
export interface Vintages {
  readonly first: number;
  readonly end: number;
}

/**
 * Those that begin in the given days; where none does, the one in which they end.
 * @param range ms since 1970
 */
export function vintagesIn(
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
  interval: CohortInterval,
): Vintages {
  const first = from === undefined ? -Infinity : intervalNumber(from - dayMs, interval) + 1;
  if (to === undefined) return { first, end: Infinity };
  const end = intervalNumber(to - dayMs, interval) + 1;
  return first < end ? { first, end } : { first: end - 1, end };
}

/** @returns null where there are none before, because all are wanted */
export function comparedVintages(
  { first, end }: Vintages,
  compare: Exclude<SummaryCompare, "known_then">,
  interval: CohortInterval,
  at: number,
): Vintages | null {
  if (first === -Infinity) return null;
  const last = Math.min(end, intervalNumber(at, interval) + 1);
  const back = compare === "previous_year" ? 12 / intervalMonths[interval] : last - first;
  return { first: first - back, end: last - back };
}

export function intervalNumber(at: number, interval: CohortInterval): number {
  return Math.floor(monthNumber(at) / intervalMonths[interval]);
}
