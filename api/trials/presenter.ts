/** Trials by month of their start, and of all the months together. */
import { percent } from "../reading/amounts.js";
import { presentStarted } from "../started/presenter.js";
import type { Started } from "../started/query.js";
import type { TrialsRow } from "./query.js";
import type { TrialsOfMonths } from "./schema.js";

/** @param rows of `trialsQuery` */
export function presentTrials(
  rows: readonly TrialsRow[],
  started: Pick<Started, "months">,
): TrialsOfMonths {
  return presentStarted(rows, started, counted);
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
