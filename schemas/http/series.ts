/** What every series over time is asked by: its days, its intervals, its cells. */
import { z } from "zod";
import { exponentOf } from "../money/currencies.js";
import { providerToken } from "./transactions.js";

export const intervals = ["day", "week", "month", "quarter", "year"] as const;
export type Interval = (typeof intervals)[number];

/** Intervals shown when `from` is left out. */
export const intervalsDefault = 12;

/** `2026-01-31`, or the date-time of that day's 00:00 in UTC; read as ms since 1970. */
const day = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], "must be a day: 2026-01-31")
  .transform((text) => Date.parse(text))
  .refine((at) => at % (24 * 60 * 60 * 1000) === 0, "must be 00:00 UTC of a day");

/** A date stands for its 00:00 in UTC; read as ms since 1970. */
export const moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], "must be a date or a date-time")
  .transform((text) => Date.parse(text));

export const seriesQuery = {
  from: day.optional().meta({
    type: "string",
    format: "date",
    description: `The first day. Default: so that there are ${intervalsDefault} intervals.`,
  }),
  to: day.optional().meta({
    type: "string",
    format: "date",
    description:
      "The day after the last: periods are half-open. Default: through the day of `at`; the " +
      "series never goes beyond `at`.",
  }),
  interval: z
    .enum(intervals)
    .optional()
    .describe(
      "UTC; weeks begin on Monday. The first and the last are cut to `from` and `to`. " +
        "Default: `month`.",
    ),
};

export const currencyCode = z
  .string()
  .regex(/^[A-Z]{3}$/, "must be an ISO 4217 code: EUR")
  .refine((code) => exponentOf(code) !== null, "no such currency");

export const countryCode = z.string().regex(/^[A-Z]{2}$/, "must be an ISO 3166 code: DE");

/** Which part of the figures is asked for. */
export const cellQuery = {
  provider: providerToken.optional(),
  product: z.string().min(1).max(100).optional().describe("Id of a unified product."),
  currency: currencyCode.optional().describe("In which customers pay."),
  country: countryCode.optional().describe("`ZZ` where nobody reported it."),
};

export const accountId = z.string().min(1).max(255).describe("Id of an account: a keyed hash.");

export const cellGroups = ["provider", "product", "country", "currency"] as const;
export type CellGroup = (typeof cellGroups)[number];

export const ungroupedMeta = {
  description: "Of `group_by`: each interval as it is without groups.",
};

export const groupByMeta = {
  description: "One row for each interval and group that has any; else one for each.",
};

/** Which group a row is of; only the fields of the group that was asked for. */
export const groupShape = {
  provider: providerToken.optional().describe("Of `group_by=provider`."),
  product_id: z.string().optional().describe("Of `group_by=product`."),
  product_name: z.string().optional(),
  country: z.string().optional().describe("Of `group_by=country`."),
  original_currency: z.string().optional().describe("Of `group_by=currency`."),
};
const groupFields = z.object(groupShape);
export type GroupFields = z.output<typeof groupFields>;

/** Of one interval: its days, the last one not included. */
export const intervalDays = {
  from: z.iso.date(),
  to: z.iso.date().describe("The day after the last."),
};
