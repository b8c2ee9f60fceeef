/** `GET /v1/metrics/trials`: free trials by month of their start, and how many came to be paid. */
import { presentStarted, startedRoute } from "../started/route.js";
import { trialsQuery, type TrialsRow } from "./query.js";
import { trialsAnswer, type TrialsOfMonths } from "./schema.js";
import { percent } from "../reading/amounts.js";
import type { Started } from "../started/query.js";

export const trialsRoute = startedRoute<TrialsRow, TrialsOfMonths>(
  {
    path: "/v1/metrics/trials",
    summary: "Free trials by month of start: converted, lost, open",
    description:
      "One for each subscription, begun at its first trial. `provider` is the only filter: a " +
      "trial has no product, no currency and no country.",
    answer: trialsAnswer,
  },
  { query: trialsQuery, present: presentTrials, hasMoney: false, table: "trials" },
);

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
