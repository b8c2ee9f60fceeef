/** `GET /v1/metrics/failed-payments`: failed payments by month, recovered, lost and open. */
import { failedPaymentsTable } from "../exports/tables.js";
import { startedRoute } from "../started/route.js";
import { presentFailedPayments } from "./presenter.js";
import { type FailedPaymentsRow, failedPaymentsQuery } from "./query.js";
import { type FailedPaymentsOfMonths, failedPaymentsAnswer } from "./schema.js";

export const failedPaymentsRoute = startedRoute<FailedPaymentsRow, FailedPaymentsOfMonths>(
  {
    path: "/v1/metrics/failed-payments",
    summary: "Failed payments by month of start: recovered, lost, open; churn by its reason",
    description:
      "A payment fails from when the provider first says so of a subscription with MRR. " +
      "`provider` is the only filter.",
    answer: failedPaymentsAnswer,
  },
  {
    query: failedPaymentsQuery,
    present: presentFailedPayments,
    hasMoney: true,
    table: failedPaymentsTable,
  },
);
