/** `GET /v1/metrics/cohorts` (`spec.md` 2.4, 4.2). */
import { z } from "zod";
import { clocksQuery, completeTo } from "./http-clocks.js";

export const cohortsQueryParameters = z.object(clocksQuery);

export const cohort = z
  .object({
    vintage: z.string().meta({ description: "`YYYY-MM`, month of the accounts' first MRR." }),
    starting_mrr: z.number(),
    nrr_percentage: z.number().meta({ description: "The last value of `retention_curve`." }),
    retention_curve: z.array(z.number()).meta({
      description:
        "Percent of `starting_mrr` at the end of each month from the vintage on; the current " +
        "month as of now. The first is 100.",
    }),
  })
  .meta({ id: "Cohort" });
export type Cohort = z.output<typeof cohort>;

export const cohortsAnswer = z
  .object({
    status: z.literal("success"),
    data: z.object({ cohorts: z.array(cohort).meta({ description: "Oldest vintage first." }) }),
    complete_to: completeTo,
  })
  .meta({ id: "CohortsAnswer" });
export type CohortsAnswer = z.output<typeof cohortsAnswer>;
