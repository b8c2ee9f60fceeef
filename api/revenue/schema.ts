/** `GET /v1/metrics/revenue`: what was sold, given back and kept, over time. */
import { z } from "zod";
import { compareQuery } from "../summary/schema.js";
import { clocksQuery, figuresAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import {
  cellGroups,
  cellQuery,
  groupByMeta,
  groupShape,
  groupsQuery,
  intervalDays,
  intervals,
  othersOf,
  seriesQuery,
  ungroupedMeta,
} from "../../schemas/http/series.js";

export const revenueQueryParameters = z.object({
  ...seriesQuery,
  ...cellQuery,
  group_by: z.enum(cellGroups).optional().meta(groupByMeta),
  ...groupsQuery,
  ...compareQuery,
  ...clocksQuery,
  ...formatQuery,
});

const figures = {
  gross: z.number().meta({ description: "Sales, tax included." }),
  refunds: z.number().meta({ description: "Below 0, at the time of the refund." }),
  disputes: z
    .number()
    .meta({ description: "Withdrawn less won back; below 0 when more was lost." }),
  revenue: z.number().meta({ description: "`gross + refunds + disputes`: the sum of the ledger." }),
  tax: z.number().meta({ description: "In `revenue`, as far as providers report it." }),
  fees: z.number().nullable().meta({
    description: "Kept by providers, of the sales they report it of; null when of none of them.",
  }),
  net: z.number().meta({ description: "`revenue − tax − fees`." }),
  sales: z.int(),
  sales_without_tax: z.int().meta({ description: "Of `sales`: those without a reported tax." }),
  sales_without_fee: z.int().meta({ description: "Of `sales`: those without a reported fee." }),
};

export const revenueRow = z
  .object({
    ...intervalDays,
    ...groupShape,
    ...figures,
  })
  .meta({ id: "Revenue" });
export type RevenueRow = z.output<typeof revenueRow>;

const revenueTotals = z.object({ ...intervalDays, ...figures }).meta({ id: "RevenueTotals" });

export const revenueAnswer = figuresAnswer("RevenueAnswer", {
  data: z.object({
    currency: z.string().meta({ description: "ISO 4217, of the workspace: of all amounts." }),
    interval: z.enum(intervals),
    revenue: z.array(revenueRow).meta({ description: "Oldest first, then by group." }),
    group_totals: z.array(revenueRow).optional().meta({
      description: "Of `group_by`: the whole time of each group shown; `totals` is that of all.",
    }),
    others: othersOf(revenueRow),
    ungrouped: z.array(revenueRow).optional().meta(ungroupedMeta),
    totals: revenueTotals,
    compare: revenueTotals.nullable().optional().meta({
      description: "Of `compare`: the totals of the other time; null where it is before 1970.",
    }),
  }),
});
export type RevenueAnswer = z.output<typeof revenueAnswer>;
