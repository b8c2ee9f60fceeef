/** `GET /v1/metrics/trials`: free trials by month of their start, and how many came to be paid. */
import { trialsTable } from "../exports/tables.js";
import { startedRoute } from "../started/route.js";
import { presentTrials } from "./presenter.js";
import { type TrialsRow, trialsQuery } from "./query.js";
import { type TrialsOfMonths, trialsAnswer } from "./schema.js";

export const trialsRoute = startedRoute<TrialsRow, TrialsOfMonths>(
  {
    path: "/v1/metrics/trials",
    summary: "Free trials by month of start: converted, lost, open",
    description:
      "One for each subscription, begun at its first trial. `provider` is the only filter: a " +
      "trial has no product, no currency and no country.",
    answer: trialsAnswer,
  },
  { query: trialsQuery, present: presentTrials, hasMoney: false, table: trialsTable },
);
