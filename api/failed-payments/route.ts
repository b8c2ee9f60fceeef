/** `GET /v1/metrics/failed-payments`: failed payments by month, recovered, lost and open. */
import { failedPaymentsTable } from "../exports/tables.js";
import type { ReadApi } from "../reading/routes.js";
import { startedRoute } from "../started/route.js";
import { presentFailedPayments } from "./presenter.js";
import { type FailedPaymentsRow, failedPaymentsQuery } from "./query.js";
import type { FailedPaymentsOfMonths } from "./schema.js";

export function failedPaymentsRoute(api: ReadApi): void {
  const path = "/v1/metrics/failed-payments";
  startedRoute<FailedPaymentsRow, FailedPaymentsOfMonths>(api, path, {
    query: failedPaymentsQuery,
    present: presentFailedPayments,
    hasMoney: true,
    table: failedPaymentsTable,
  });
}
