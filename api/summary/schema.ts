/** `GET /v1/metrics/summary`: the ratios people run a subscription business by. */
import { z } from "zod";
import { clocksQuery, figuresAnswer, instant } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { mrrCellQuery, intervals, seriesQuery } from "../../schemas/http/series.js";

/** Days the rates look back where no period is asked for. */
export const summaryDays = 30;

const compares = ["previous_period", "previous_year", "known_then"] as const;
export type SummaryCompare = (typeof compares)[number];

export const compareQuery = {
  compare: z
    .enum(compares)
    .optional()
    .meta({
      description:
        "The same figures of another time: as long a one just before (calendar months, where " +
        "`from` and `to` are first days of months), the same a year before, or the same time as " +
        "known at `compare_known_at`. What is still going on is compared up to the same time.",
    }),
  compare_known_at: instant.optional().meta({
    description: "With `compare=known_then`. Not after `complete_to`.",
  }),
};

export const summaryQueryParameters = z.object({
  from: seriesQuery.from.meta({
    description: `The first day. Default: ${summaryDays} × 24 h before the end.`,
  }),
  to: seriesQuery.to,
  interval: z.enum(intervals).optional().meta({
    description: "The same figures of each interval, too. Without `from`: of 12 intervals.",
  }),
  ...compareQuery,
  ...mrrCellQuery,
  ...clocksQuery,
  ...formatQuery,
});
export type SummaryQuery = z.output<typeof summaryQueryParameters>;

const percent = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `Percent. ${description} Null when that was 0.` });

const accountsNote = "Null in the part of a product, a currency or a country.";

export const summaryFigures = z
  .object({
    since: z.iso.datetime().meta({ description: "Where the period begins." }),
    until: z.iso.datetime().meta({ description: "Where it ends; not after `at`." }),
    mrr: z.number(),
    arr: z.number().meta({ description: "12 × MRR." }),
    start_mrr: z.number().meta({ description: "At `since`." }),
    net_new_mrr: z.number().meta({ description: "`mrr − start_mrr`: the sum of all movements." }),
    active_subscribers: z
      .int()
      .nullable()
      .meta({ description: `Accounts with MRR above 0. ${accountsNote}` }),
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
  .meta({ id: "SummaryFigures" });
export type SummaryFigures = z.output<typeof summaryFigures>;

const series = z.array(summaryFigures).optional().meta({
  description: "With `interval`: of each, oldest first; its rates look back to its beginning.",
});

export const summaryAnswer = figuresAnswer("SummaryAnswer", {
  data: summaryFigures
    .extend({
      currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
      series,
      compare: summaryFigures
        .extend({ series })
        .nullable()
        .optional()
        .meta({ id: "SummaryCompared", description: "With `compare`; null before 1970." }),
    })
    .meta({ id: "Summary" }),
});
export type SummaryAnswer = z.output<typeof summaryAnswer>;
