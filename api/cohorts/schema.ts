/** `GET /v1/metrics/cohorts` (`spec.md` 2.4, 4.2). */
import { z } from "zod";
import { clocksQuery, figuresAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { mrrCellQuery, seriesQuery } from "../../schemas/http/series.js";
import { definitionQuery, definitionShown } from "../mrr-compare/schema.js";
import { compareQuery } from "../summary/schema.js";

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
  from: seriesQuery.from.meta({
    type: "string",
    description: "The first day: the vintages that begin from it on. Default: all.",
  }),
  to: seriesQuery.to.meta({
    type: "string",
    description:
      "The day after the last one. Of days in which no vintage begins, that of the last.",
  }),
  average: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "`true` reports the average of the vintages, too. Default: `false`." }),
  compare: compareQuery.compare.meta({
    description:
      "The average of as many vintages just before, of those a year before, or of the same as " +
      "known at `compare_known_at`. Reports `average`, too.",
  }),
  compare_known_at: compareQuery.compare_known_at,
  provider: mrrCellQuery.provider,
  product: mrrCellQuery.product,
  plan_interval: mrrCellQuery.plan_interval,
  vintage: mrrCellQuery.vintage,
  segment: mrrCellQuery.segment,
  ...definitionQuery,
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

const averageCurve = z.array(z.number()).meta({
  description:
    "Of each age: what the vintages that are that old have left, in percent of what these began " +
    "with. The current interval is not counted.",
});
const averagedVintages = z.int().meta({ description: "How many vintages it is of." });

const cohortAverage = z
  .object({
    vintages: averagedVintages,
    starting_mrr: z.number(),
    retention_curve: averageCurve,
    gross_retention_curve: averageCurve.optional(),
  })
  .meta({ id: "CohortAverage" });
export type CohortAverage = z.output<typeof cohortAverage>;

const accountCohortAverage = z
  .object({
    vintages: averagedVintages,
    starting_accounts: z.int(),
    retention_curve: averageCurve,
  })
  .meta({ id: "AccountCohortAverage" });
export type AccountCohortAverage = z.output<typeof accountCohortAverage>;

export const cohortsAnswer = answerOf("CohortsAnswer", cohort, cohortAverage);
export type CohortsAnswer = z.output<typeof cohortsAnswer>;

/** With `basis=accounts`. */
export const accountCohortsAnswer = answerOf(
  "AccountCohortsAnswer",
  accountCohort,
  accountCohortAverage,
);
export type AccountCohortsAnswer = z.output<typeof accountCohortsAnswer>;

function answerOf<Row extends z.ZodType, Average extends z.ZodType>(
  id: string,
  row: Row,
  average: Average,
) {
  const cohorts = z.array(row).meta({ description: "Oldest vintage first." });
  const data = z.object({
    cohorts,
    average: average.optional().meta({
      description: "With `average=true`: weighted by what each vintage began with.",
    }),
    compare: average.nullable().optional().meta({
      description: "With `compare`; null where all vintages are asked for.",
    }),
    ...definitionShown,
  });
  return figuresAnswer(id, { data });
}
