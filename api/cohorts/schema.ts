/** `GET /v1/metrics/cohorts` (`spec.md` 2.4, 4.2). */
import { z } from "zod";
import { clocksQuery, figuresAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { mrrCellQuery } from "../../schemas/http/series.js";

const cohortIntervals = ["month", "quarter", "year"] as const;
export type CohortInterval = (typeof cohortIntervals)[number];

export const cohortsQueryParameters = z.object({
  interval: z
    .enum(cohortIntervals)
    .optional()
    .meta({ description: "Of vintages and of the curve. Default: `month`." }),
  basis: z.enum(["mrr", "accounts"]).optional().meta({
    description: "What is retained. `accounts` gets an AccountCohortsAnswer. Default: `mrr`.",
  }),
  gross: z
    .enum(["true", "false"])
    .optional()
    .meta({
      description:
        "`true` reports gross retention beside net: each account counts at most what it began " +
        "with. Reads every movement. Default: `false`.",
    }),
  provider: mrrCellQuery.provider,
  product: mrrCellQuery.product,
  vintage: mrrCellQuery.vintage,
  ...clocksQuery,
  ...formatQuery,
});

const vintage = z.string().meta({
  description: "`YYYY-MM` (or `YYYY-Q1`, `YYYY`), when the accounts first had MRR.",
});

export const cohort = z
  .object({
    vintage,
    starting_mrr: z.number(),
    nrr_percentage: z.number().meta({ description: "The last value of `retention_curve`." }),
    retention_curve: z.array(z.number()).meta({
      description:
        "Percent of `starting_mrr` at the end of each month (quarter, year) from the vintage on; " +
        "the current one as of now. The first is 100.",
    }),
    grr_percentage: z.number().optional().meta({
      description: "The last value of `gross_retention_curve`. With `gross=true`.",
    }),
    gross_retention_curve: z.array(z.number()).optional().meta({
      description: "The same without growth: never above 100. With `gross=true`.",
    }),
  })
  .meta({ id: "Cohort" });
export type Cohort = z.output<typeof cohort>;

export const accountCohort = z
  .object({
    vintage,
    starting_accounts: z.int(),
    retention_percentage: z.number().meta({ description: "The last value of `retention_curve`." }),
    retention_curve: z.array(z.number()).meta({
      description: "Percent of `starting_accounts` with MRR at the end of each interval.",
    }),
  })
  .meta({ id: "AccountCohort" });
export type AccountCohort = z.output<typeof accountCohort>;

export const cohortsAnswer = answerOf("CohortsAnswer", cohort);
export type CohortsAnswer = z.output<typeof cohortsAnswer>;

/** With `basis=accounts`. */
export const accountCohortsAnswer = answerOf("AccountCohortsAnswer", accountCohort);
export type AccountCohortsAnswer = z.output<typeof accountCohortsAnswer>;

function answerOf<Row extends z.ZodType>(id: string, row: Row) {
  const cohorts = z.array(row).meta({ description: "Oldest vintage first." });
  return figuresAnswer(id, { data: z.object({ cohorts }) });
}
