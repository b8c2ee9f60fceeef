/** The rates in the order they are shown, and how each is written. */
import type { MonthRates } from "../../../api/rates/schema.js";
import type { DefinitionName } from "../../definitions.js";
import type { Format } from "../../parts/figure-cell.js";

export const rates = [
  {
    of: "customerChurn",
    field: "customer_churn_rate_pct",
    format: "percent",
    isInverse: true,
    sentence: "Accounts that churned in a month, of those active at its start.",
  },
  {
    of: "mrrChurn",
    field: "mrr_churn_rate_pct",
    format: "percent",
    isInverse: true,
    sentence: "MRR lost in a month by churn and contraction, of MRR at its start.",
  },
  {
    of: "netMrrChurn",
    field: "net_mrr_churn_rate_pct",
    format: "percent",
    isInverse: true,
    sentence: "The same less expansion and reactivation; below 0 when more was gained.",
  },
  {
    of: "ltv",
    field: "ltv",
    format: "cents",
    isInverse: false,
    sentence: "What a customer brings before leaving, at this ARPA and churn.",
  },
  {
    of: "arpa",
    field: "arpa",
    format: "cents",
    isInverse: false,
    sentence: "MRR of an average active account, at the end.",
  },
  {
    of: "quickRatio",
    field: "quick_ratio",
    format: "ratio",
    isInverse: false,
    sentence: "MRR gained for each unit of MRR lost.",
  },
] as const satisfies readonly {
  readonly of: DefinitionName;
  readonly field: keyof MonthRates;
  readonly format: Format;
  /** Less is better. */
  readonly isInverse: boolean;
  readonly sentence: string;
}[];

export type Rate = (typeof rates)[number];
export type RateName = Rate["of"];

export function rateOf(name: string | null): Rate {
  return rates.find(({ of }) => of === name) ?? rates[0];
}
