/** `GET /v1/metrics/summary`: the ratios people run a subscription business by. */
import { z } from "zod";
import { clocksQuery, completeTo } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { providerToken } from "../../schemas/http/transactions.js";

/** Days the rates look back. */
export const summaryDays = 30;

export const summaryQueryParameters = z.object({
  provider: providerToken.optional(),
  ...clocksQuery,
  ...formatQuery,
});

const percent = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `Percent. ${description} Null when that was 0.` });

export const summaryAnswer = z
  .object({
    status: z.literal("success"),
    data: z
      .object({
        currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
        since: z.iso.datetime().meta({ description: `${summaryDays} days before \`until\`.` }),
        until: z.iso.datetime().meta({ description: "`at`." }),
        mrr: z.number(),
        arr: z.number().meta({ description: "12 × MRR." }),
        active_subscribers: z.int().meta({ description: "Accounts with MRR above 0." }),
        arpa: z.number().nullable().meta({
          description: "MRR ÷ active subscribers; null when there are none.",
        }),
        customer_churn_rate_pct: percent("Churned accounts ÷ active subscribers at `since`."),
        gross_revenue_churn_rate_pct: percent("Churn and contraction ÷ MRR at `since`."),
        net_revenue_churn_rate_pct: percent(
          "Churn and contraction less expansion and reactivation ÷ MRR at `since`.",
        ),
        quick_ratio: z.number().nullable().meta({
          description:
            "New, expansion and reactivation ÷ contraction and churn; null when nothing was lost.",
        }),
        ltv: z.number().nullable().meta({
          description: "ARPA ÷ customer churn rate; null when either is, or nobody left.",
        }),
      })
      .meta({ id: "Summary" }),
    complete_to: completeTo,
  })
  .meta({ id: "SummaryAnswer" });
export type SummaryAnswer = z.output<typeof summaryAnswer>;
