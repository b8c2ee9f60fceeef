/** `GET /v1/metrics/mrr/movements`: how MRR got from one balance to the next. */
import { z } from "zod";
import { definitionQuery, definitionShown } from "../mrr-compare/schema.js";
import { compareQuery } from "../summary/schema.js";
import { clocksQuery, figuresAnswer } from "../../schemas/http/clocks.js";
import { movementKinds } from "../../schemas/records/records.js";
import { formatQuery } from "../../schemas/http/formats.js";
import {
  cellGroups,
  mrrCellQuery,
  groupByMeta,
  groupShape,
  groupsQuery,
  intervalDays,
  intervals,
  othersOf,
  seriesQuery,
  ungroupedMeta,
} from "../../schemas/http/series.js";

export const movementKind = z.enum(movementKinds);

const movementGroups = [...cellGroups, "plan_interval", "kind"] as const;
export type MovementGroup = (typeof movementGroups)[number];

export const movementsQueryParameters = z.object({
  ...seriesQuery,
  ...mrrCellQuery,
  group_by: z
    .enum(movementGroups)
    .optional()
    .meta({
      description:
        `${groupByMeta.description} The row of a group is what its filter shows; of a kind, ` +
        "balances are the sum of all its movements before.",
    }),
  ...groupsQuery,
  ...definitionQuery,
  ...compareQuery,
  ...clocksQuery,
  ...formatQuery,
});

const accountsNote = "Null in the part of a product, a currency, a country or a plan interval.";
const accounts = z.int().nullable();

export const movementsRow = z
  .object({
    ...intervalDays,
    ...groupShape,
    kind: movementKind.optional().meta({ description: "Of `group_by=kind`." }),
    start_mrr: z.number(),
    new_mrr: z.number(),
    expansion_mrr: z.number(),
    contraction_mrr: z.number().meta({ description: "Not above 0." }),
    churn_mrr: z.number().meta({ description: "Not above 0." }),
    reactivation_mrr: z.number(),
    switch_mrr: z.number().meta({
      description:
        "What moved between SKUs, subscriptions, currencies or plan intervals of one account at " +
        "one moment. 0 in the whole, since what one part loses another gains.",
    }),
    end_mrr: z.number().meta({ description: "`start_mrr` and the six movements, exactly." }),
    start_accounts: accounts.meta({ description: `With MRR above 0. ${accountsNote}` }),
    new_accounts: accounts,
    churned_accounts: accounts,
    reactivated_accounts: accounts,
    end_accounts: accounts.meta({ description: "start + new − churned + reactivated." }),
  })
  .meta({ id: "MrrMovements" });
export type MovementsRow = z.output<typeof movementsRow>;

export const movementsAnswer = figuresAnswer("MrrMovementsAnswer", {
  data: z.object({
    ...definitionShown,
    currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
    interval: z.enum(intervals),
    movements: z.array(movementsRow).meta({ description: "Oldest first, then by group." }),
    others: othersOf(movementsRow),
    ungrouped: z.array(movementsRow).optional().meta(ungroupedMeta),
    totals: movementsRow.meta({ description: "The whole time as one interval." }),
    compare: movementsRow.nullable().optional().meta({
      description: "Of `compare`: the totals of the other time; null where it is before 1970.",
    }),
  }),
});
export type MovementsAnswer = z.output<typeof movementsAnswer>;
