/** What is counted by the month in which it began, and of all the months together. */
import { monthNumber, monthText } from "../../schemas/months.js";
import { utcDay } from "../../schemas/money/rates.js";
import { isWhole } from "../rates/months.js";
import type { Started } from "./query.js";

/** @param rows of each month, by its first day */
export function presentStarted<Row extends { readonly start: string }, Figures extends object>(
  rows: readonly Row[],
  { months }: Pick<Started, "months">,
  counted: (rows: readonly Row[]) => Figures,
) {
  const untilText = (to: number) => new Date(Math.min(to, months.asOf.at)).toISOString();
  return {
    since: new Date(months.from).toISOString(),
    until: untilText(months.to),
    ...counted(rows),
    series: months.parts.map((part) => ({
      month: monthText(monthNumber(part.start)),
      until: untilText(part.to),
      is_whole: isWhole(part, months),
      ...counted(rows.filter(({ start }) => start === utcDay(part.start))),
    })),
  };
}
