/** Trials by month of their start, and of all the months together. */
import { monthNumber, monthText } from "../../schemas/months.js";
import { utcDay } from "../../schemas/money/rates.js";
import { percent } from "../reading/amounts.js";
import { isWhole } from "../rates/months.js";
import type { Started, TrialsRow } from "./query.js";
import type { MonthTrials, TrialsOfMonths } from "./schema.js";

/** @param rows of `trialsQuery` */
export function presentTrials(
  rows: readonly TrialsRow[],
  { months }: Pick<Started, "months">,
): TrialsOfMonths {
  const rowOf = new Map(rows.map((row) => [row.start, row]));
  const untilText = (to: number) => new Date(Math.min(to, months.asOf.at)).toISOString();
  return {
    since: new Date(months.from).toISOString(),
    until: untilText(months.to),
    ...counted(rows),
    series: months.parts.map((part): MonthTrials => {
      const row = rowOf.get(utcDay(part.start));
      return {
        month: monthText(monthNumber(part.start)),
        until: untilText(part.to),
        is_whole: isWhole(part, months),
        ...counted(row === undefined ? [] : [row]),
      };
    }),
  };
}

function counted(rows: readonly TrialsRow[]) {
  const sum = (of: "started" | "converted" | "lost") =>
    rows.reduce((total, row) => total + Number(row[of]), 0);
  const [started, converted, lost] = [sum("started"), sum("converted"), sum("lost")];
  return {
    started,
    converted,
    lost,
    open: started - converted - lost,
    conversion_rate_pct: started === 0 ? null : percent(BigInt(converted), BigInt(started), 2),
  };
}
