/** `GET /v1/metrics/rates`: rates of a month, however long the time they are asked for. */
import { z } from "zod";
import { clocksQuery, figuresAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { mrrCellQuery, seriesQuery } from "../../schemas/http/series.js";
import { compareQuery } from "../summary/schema.js";

export const ratesQueryParameters = z.object({
  from: seriesQuery.from.meta({
    type: "string",
    description: "The first day: the months that begin from it on. Default: 12 months.",
  }),
  to: seriesQuery.to,
  ...compareQuery,
  ...mrrCellQuery,
  ...clocksQuery,
  ...formatQuery,
});
export type RatesQuery = z.output<typeof ratesQueryParameters>;

const percent = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `Percent of a month. ${description} Null where that is 0.` });

const accountsNote = "Null in the part of a product, a currency or a country.";

const rates = {
  customer_churn_rate_pct: percent(
    `Accounts that churned in it ÷ accounts active at its start. ${accountsNote}`,
  ),
  mrr_churn_rate_pct: percent("Churn and contraction ÷ MRR at its start."),
  net_mrr_churn_rate_pct: percent(
    "Churn and contraction less expansion and reactivation ÷ MRR at its start.",
  ),
  quick_ratio: z.number().nullable().meta({
    description: "New, expansion and reactivation ÷ contraction and churn; null where that is 0.",
  }),
  arpa: z
    .number()
    .nullable()
    .meta({ description: `MRR ÷ active accounts at the end. ${accountsNote}` }),
  ltv: z.number().nullable().meta({
    description: "ARPA ÷ customer churn; null when either is, or nobody left.",
  }),
};

export const monthRates = z
  .object({
    month: z.string().meta({ description: "`YYYY-MM`" }),
    until: z.iso.datetime().meta({ description: "Where it ends; not after `at`." }),
    is_whole: z.boolean().meta({ description: "False of a month that is still going on." }),
    ...rates,
    start_mrr: z.number().meta({ description: "At the start of the month." }),
    mrr: z.number().meta({ description: "At `until`." }),
    start_subscribers: z
      .int()
      .nullable()
      .meta({ description: `At the start. ${accountsNote}` }),
    active_subscribers: z
      .int()
      .nullable()
      .meta({ description: `At \`until\`. ${accountsNote}` }),
    churned_subscribers: z
      .int()
      .nullable()
      .meta({ description: `Accounts that churned in the month, each once. ${accountsNote}` }),
  })
  .meta({ id: "MonthRates" });
export type MonthRates = z.output<typeof monthRates>;

const ratesOfMonths = z
  .object({
    since: z.iso.datetime().meta({ description: "The start of the first month." }),
    until: z.iso.datetime().meta({ description: "The end of the last one; not after `at`." }),
    whole_months: z.int().meta({
      description:
        "Churn is the mean of so many whole months, less those that began with nothing; 0: of " +
        "the running month, what it is so far.",
    }),
    ...rates,
    series: z.array(monthRates).meta({ description: "Oldest first." }),
  })
  .meta({ id: "RatesOfMonths" });
export type RatesOfMonths = z.output<typeof ratesOfMonths>;

export const ratesAnswer = figuresAnswer("RatesAnswer", {
  data: ratesOfMonths
    .extend({
      currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
      compare: ratesOfMonths
        .nullable()
        .optional()
        .meta({
          description:
            "With `compare`: of as many months just before, of the same a year before, or of the " +
            "same as known then; null before 1970.",
        }),
    })
    .meta({ id: "Rates" }),
});
export type RatesAnswer = z.output<typeof ratesAnswer>;
