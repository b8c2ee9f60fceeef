/** Months as the screen of rates shows them. */
import type { MonthRates } from "../../../api/rates/schema.js";
import { month as monthName } from "../../format/dates.js";
import { comparisons } from "../../shell/bar.js";
import { dayAfter } from "../../state/ranges.js";
import type { View } from "../../state/view.js";

export type Month = Pick<MonthRates, "month" | "until" | "is_whole">;

export function firstDay({ month }: Pick<Month, "month">): string {
  return `${month}-01`;
}

export function labelOf(row: Month): string {
  return row.is_whole ? monthName(firstDay(row)) : `${monthName(firstDay(row))} so far`;
}

/** The last month that is over; where there is none, the running one. */
export function newestWhole<Row extends Month>(rows: readonly Row[]): Row | undefined {
  return rows.findLast((row) => row.is_whole) ?? rows.at(-1);
}

/** Of the month, as far as it is shown. */
export function daysOf(row: Month): { readonly from: string; readonly to: string } {
  const last = new Date(Date.parse(row.until) - 1).toISOString().slice(0, 10);
  return { from: firstDay(row), to: dayAfter(last) };
}

/** @param then of the time compared with; null or left out: none is shown */
export function legendOf(then: object | null | undefined, { comparison }: View) {
  if (then === undefined || then === null) return [];
  return [
    { label: "These months", tone: "accent" as const },
    { label: comparisons[comparison], tone: "then" as const },
  ];
}
