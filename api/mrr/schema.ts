/** `GET /v1/metrics/mrr` (`spec.md` 2.3, 4.1). */
import { z } from "zod";
import { definitionQuery, definitionShown } from "../mrr-compare/schema.js";
import { clocksQuery, figuresAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { providerToken } from "../../schemas/http/transactions.js";

export const mrrQueryParameters = z.object({
  ...definitionQuery,
  ...clocksQuery,
  ...formatQuery,
});

export const mrrAnswer = figuresAnswer("MrrAnswer", {
  data: z
    .object({
      ...definitionShown,
      current_mrr: z.number().meta({ description: "Across all active subscriptions." }),
      currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
      growth_mom_pct: z.number().meta({
        description:
          "Percent against the same time on the same day of the month before; 0 when MRR was " +
          "0 then.",
      }),
      previous_mrr: z.number().meta({ description: "What growth compares with." }),
      active_subscribers: z.int().meta({ description: "Accounts with MRR above 0." }),
      breakdown_by_provider: z.partialRecord(providerToken, z.number()).meta({
        description: "MRR of each provider that has any.",
      }),
    })
    .meta({ id: "Mrr" }),
});

export type MrrAnswer = z.output<typeof mrrAnswer>;
