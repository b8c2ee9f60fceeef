/** `GET /v1/metrics/mrr/what-changed`: what made MRR another between two moments, largest first. */
import { z } from "zod";
import { completeAnswer, instant } from "../../schemas/http/clocks.js";
import { customerField } from "../../schemas/http/customers.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { mrrCellQuery, groupShape, moment } from "../../schemas/http/series.js";

const whatChangedGroups = ["account", "product", "country", "provider", "plan_interval"] as const;
export type WhatChangedGroup = (typeof whatChangedGroups)[number];

const rowsDefault = 10;
const rowsMax = 200;

export const whatChangedQueryParameters = z.object({
  from: moment.meta({
    type: "string",
    description: "The first moment: a date (its 00:00 UTC) or a date-time.",
  }),
  to: moment.optional().meta({
    type: "string",
    description:
      "The second one, not included: movements dated from `from` on and before `to`. Not in the " +
      "future. Default: now.",
  }),
  by: z.enum(whatChangedGroups).optional().meta({ description: "Default: `account`." }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(rowsMax)
    .optional()
    .meta({ description: `Rows, up to ${rowsMax}. Default: ${rowsDefault}.` }),
  ...mrrCellQuery,
  known_at: instant.optional().meta({
    description: "Recorded up to then. Not after `complete_to`, which is the default.",
  }),
  ...formatQuery,
});
export type WhatChangedQuery = z.output<typeof whatChangedQueryParameters>;

export function rowsOf({ limit }: Pick<WhatChangedQuery, "limit">): number {
  return limit ?? rowsDefault;
}

const kinds = z
  .object({
    new_mrr: z.number(),
    expansion_mrr: z.number(),
    contraction_mrr: z.number(),
    churn_mrr: z.number(),
    reactivation_mrr: z.number(),
    switch_mrr: z.number(),
  })
  .meta({ id: "MrrKinds", description: "They add up to `difference`." });

const { original_currency: _none, ...groups } = groupShape;
export const whatChangedRow = z.object({
  account: z.string().optional().meta({ description: "Of `by=account`: a keyed hash." }),
  ...groups,
  difference: z.number(),
  kinds,
  movements: z.int().meta({
    description: "How many there are: those of `/v1/mrr-movements` under the same filter.",
  }),
});
export type WhatChangedRow = z.output<typeof whatChangedRow>;

const listedRow = whatChangedRow.extend(customerField).meta({ id: "WhatChangedRow" });
export type ListedWhatChangedRow = z.output<typeof listedRow>;

const momentMrr = z.object({ at: z.iso.datetime(), mrr: z.number() }).meta({ id: "MomentMrr" });

export const whatChangedAnswer = completeAnswer("WhatChangedAnswer", {
  data: z.object({
    currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
    from: momentMrr.meta({ description: "MRR just before `from`." }),
    to: momentMrr.meta({ description: "MRR just before `to`." }),
    difference: z.number().meta({ description: "`to.mrr − from.mrr`." }),
    kinds,
    rows: z.array(listedRow).meta({
      description: "By the size of `difference`, the largest first. With `others` they add up.",
    }),
    others: z
      .object({
        count: z.int().meta({ description: "Groups with movements that `rows` has no room for." }),
        difference: z.number(),
      })
      .meta({ id: "WhatChangedOthers" }),
  }),
});
export type WhatChangedAnswer = z.output<typeof whatChangedAnswer>;
