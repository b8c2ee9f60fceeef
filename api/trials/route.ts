/** `GET /v1/metrics/trials`: free trials by month of their start, and how many came to be paid. */
import { trialsTable } from "../exports/tables.js";
import type { ReadApi } from "../reading/routes.js";
import { startedRoute } from "../started/route.js";
import { presentTrials } from "./presenter.js";
import { type TrialsRow, trialsQuery } from "./query.js";
import type { TrialsOfMonths } from "./schema.js";

export function trialsRoute(api: ReadApi): void {
  startedRoute<TrialsRow, TrialsOfMonths>(api, "/v1/metrics/trials", {
    query: trialsQuery,
    present: presentTrials,
    hasMoney: false,
    table: trialsTable,
  });
}
