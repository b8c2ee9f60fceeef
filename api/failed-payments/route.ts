/** `GET /v1/metrics/failed-payments`: failed payments by month, recovered, lost and open. */
import { presentStarted, startedRoute } from "../started/route.js";
import { failedPaymentsQuery, type FailedPaymentsRow } from "./query.js";
import { failedPaymentsAnswer, type FailedPaymentsOfMonths } from "./schema.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import { percent, showMrr } from "../reading/amounts.js";
import type { Started } from "../started/query.js";

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
    table: "failed-payments",
  },
);

/** @param rows of `failedPaymentsQuery` */
export function presentFailedPayments(
  rows: readonly FailedPaymentsRow[],
  started: Pick<Started, "months">,
  currency: string,
): FailedPaymentsOfMonths {
  return presentStarted(rows, started, (some) => counted(some, currency));
}

function counted(rows: readonly FailedPaymentsRow[], currency: string) {
  const sum = (of: FailedPaymentsRow["what"]) => {
    const some = rows.filter(({ what }) => what === of);
    return {
      count: some.reduce((total, { count }) => total + Number(count), 0),
      mrr: some.reduce((total, { mrr }) => total + mrrOf(mrr), 0n),
    };
  };
  const shown = (mrr: bigint) => showMrr(mrr, currency);
  const [recovered, lost, open] = [sum("recovered"), sum("lost"), sum("open")];
  const [churned, involuntary, voluntary] = [sum("churned"), sum("involuntary"), sum("voluntary")];
  const settled = recovered.count + lost.count;
  return {
    started: settled + open.count,
    recovered: recovered.count,
    lost: lost.count,
    open: open.count,
    recovery_rate_pct: settled === 0 ? null : percent(BigInt(recovered.count), BigInt(settled), 2),
    mrr_at_risk: shown(recovered.mrr + lost.mrr + open.mrr),
    recovered_mrr: shown(recovered.mrr),
    lost_mrr: shown(lost.mrr),
    involuntary_churned: involuntary.count,
    involuntary_churned_mrr: shown(involuntary.mrr),
    voluntary_churned: voluntary.count,
    voluntary_churned_mrr: shown(voluntary.mrr),
    unknown_churned: churned.count - involuntary.count - voluntary.count,
    unknown_churned_mrr: shown(churned.mrr - involuntary.mrr - voluntary.mrr),
  };
}
