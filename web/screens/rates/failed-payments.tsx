/** Payments that began to fail, by month, what became of them, and why customers left. */
import { useAnswer } from "../../api/use-answer.js";
import { Failure } from "../../parts/states.js";
import { type Kind, Started, useStartedParams } from "./started.js";

const path = "/v1/metrics/failed-payments";

const kinds = [
  {
    name: "paymentsFailed",
    head: "Failed",
    field: "started",
    format: "count",
    isInverse: true,
    of: {
      name: "Payments failed",
      text:
        "Subscriptions with MRR whose payment began to fail in the time shown, from when the " +
        "provider first says so. What fails again before it is paid counts once.",
    },
  },
  {
    name: "paymentsRecovered",
    head: "Recovered",
    field: "recovered",
    format: "count",
    isInverse: false,
    of: {
      name: "Payments recovered",
      text: "Of those, the ones that were paid up to now.",
    },
  },
  {
    name: "paymentsLost",
    head: "Lost",
    field: "lost",
    format: "count",
    isInverse: true,
    of: {
      name: "Payments lost",
      text:
        "Of those, the ones whose subscription ended, paused or was given up as unpaid before it " +
        "was paid.",
    },
  },
  {
    name: "paymentsOpen",
    head: "Open",
    field: "open",
    format: "count",
    isInverse: true,
    of: {
      name: "Payments open",
      text: "Of those, the ones that are neither recovered nor lost yet.",
      formula: "failed − recovered − lost",
    },
  },
  {
    name: "paymentRecovery",
    head: "Recovery",
    field: "recovery_rate_pct",
    format: "percent",
    isInverse: false,
    of: {
      name: "Payment recovery",
      text: "How many of those that are settled were recovered. Open ones are in neither part.",
      formula: "recovered ÷ (recovered + lost)",
    },
  },
  {
    name: "mrrAtRisk",
    head: "MRR at risk",
    field: "mrr_at_risk",
    format: "money",
    isInverse: true,
    of: {
      name: "MRR at risk",
      text: "MRR of the subscriptions whose payment began to fail, as it was then.",
    },
  },
  {
    name: "mrrLost",
    head: "MRR lost",
    field: "lost_mrr",
    format: "money",
    isInverse: true,
    of: { name: "MRR lost", text: "Of the MRR at risk, that of payments that were lost." },
  },
  {
    name: "involuntaryChurn",
    head: "Involuntary churn",
    field: "involuntary_churned_mrr",
    format: "money",
    isInverse: true,
    of: {
      name: "Involuntary churn",
      text:
        "MRR of customers who churned in the time shown while a payment failed, or because the " +
        "provider says that it did.",
    },
  },
  {
    name: "voluntaryChurn",
    head: "Voluntary",
    field: "voluntary_churned_mrr",
    format: "money",
    isInverse: true,
    of: {
      name: "Voluntary churn",
      text: "MRR of customers who churned for another reason that the provider reports.",
    },
  },
  {
    name: "unknownChurn",
    head: "Unknown",
    field: "unknown_churned_mrr",
    format: "money",
    isInverse: true,
    of: {
      name: "Unknown churn",
      text: "MRR of customers who churned without a reason that the provider reports.",
      formula: "churn − involuntary − voluntary",
    },
  },
] as const satisfies readonly Kind<string>[];

/** Nothing where no provider says anything of it, now and in the time compared with. */
export function FailedPayments() {
  const params = useStartedParams();
  const { answer, error, isStale } = useAnswer(path, params);
  if (error !== null) return <Failure error={error} />;
  const data = answer?.data;
  const isSaid = [data, data?.compare].some(
    (of) => of && of.started + of.involuntary_churned_mrr + of.voluntary_churned_mrr > 0,
  );
  if (data === undefined || !isSaid) return null;
  return (
    <Started
      heading="Failed payments"
      intro="By the month in which they began to fail; open ones may still recover."
      {...{ path, params, kinds, data, isStale }}
      currency={data.currency}
      chosenBy="failed"
    />
  );
}
