/** What every series over time is asked by: its days, its intervals, its cells. */
import { z } from "zod";
import { exponentOf } from "../money/money.js";
import { planIntervals } from "../money/plan-intervals.js";
import { providerTokens } from "../provider-tokens.js";
import { wholeNumber } from "./pages.js";
import { several, severalNote, severalOf } from "./several.js";
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

export const currencyCodes = several(
  "[A-Z]{3}",
  "must be ISO 4217 codes: EUR, EUR,USD or -EUR,-USD",
).refine(({ values }) => values.every((code) => exponentOf(code) !== null), "no such currency");

export const countryCodes = several("[A-Z]{2}", "must be ISO 3166 codes: DE, DE,FR or -DE,-FR");

export const productIds = several("[^,-][^,]{0,99}", "must be ids of products: A, A,B or -A,-B");

/** `2026-05`, `2026-Q2` or `2026`, as cohorts have them. */
const vintages = several(
  "\\d{4}(?:-(?:0[1-9]|1[0-2])|-Q[1-4])?",
  "must be vintages: 2026-05, 2026-Q2 or 2026; several as 2026-05,2026-06 or -2026-05,-2026-06",
);

/** A segment, as a parameter names it. */
export interface SegmentRef {
  readonly id: string;
  /** Null: the newest. */
  readonly revision: number | null;
}

/** A revision of it, or it as it is now. */
export const segmentText = z
  .string()
  .regex(/^seg_[0-9A-Za-z]{20}(\.[1-9]\d{0,4})?$/, "must be the id of a segment");

export const segmentRef = segmentText.transform((text): SegmentRef => {
  const [id = "", revision] = text.split(".");
  return { id, revision: revision === undefined ? null : Number(revision) };
});

export const segmentQuery = {
  segment: segmentRef
    .optional()
    .describe(
      "Id of a segment: its filters, besides those that are given. With a number behind it, " +
        "`seg_….2`, as that revision had them; the header `Segment` of an answer names the one " +
        "that counted.",
    ),
};

/** Which part of the figures is asked for. */
export const cellQuery = {
  ...segmentQuery,
  provider: severalOf(providerTokens).optional().describe(severalNote),
  product: productIds.optional().describe(`Ids of unified products. ${severalNote}`),
  currency: currencyCodes.optional().describe(`In which customers pay. ${severalNote}`),
  country: countryCodes
    .optional()
    .describe(`ISO 3166-1; \`ZZ\` where nobody reported it. ${severalNote}`),
};

/** Of MRR, which knows when each account first had any, and how often plans are billed. */
export const mrrCellQuery = {
  ...cellQuery,
  plan_interval: severalOf(planIntervals)
    .optional()
    .describe(`How often plans are billed; \`unknown\` where nothing says so. ${severalNote}`),
  vintage: vintages
    .optional()
    .describe(`When accounts first had MRR: \`2026-05\`, \`2026-Q2\`, \`2026\`. ${severalNote}`),
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

/** Groups of a series that are shown one by one. */
export const seriesGroupsMax = 1_000;

export const groupsQuery = {
  groups: wholeNumber(seriesGroupsMax)
    .optional()
    .meta({
      type: "integer",
      minimum: 1,
      maximum: seriesGroupsMax,
      description:
        "Of `group_by`: so many groups are shown one by one, the largest of the whole time; all " +
        `others are added up in \`others\`. Default: ${seriesGroupsMax}.`,
    }),
};

/** What the groups shown leave of the whole. */
export function othersOf<Row extends z.ZodType>(row: Row) {
  return z
    .object({
      count: z.int().describe("How many groups that are."),
      rows: z.array(row).describe("One for each interval that has any."),
    })
    .optional()
    .describe(
      "Of `group_by`: what the groups shown leave of `ungrouped`. Together they add up to it, to " +
        "the last digit: of MRR, cents that rounding each group leaves are in here, too.",
    );
}

/** Which group a row is of; only the fields of the group that was asked for. */
export const groupShape = {
  provider: providerToken.optional().describe("Of `group_by=provider`."),
  product_id: z.string().optional().describe("Of `group_by=product`."),
  product_name: z.string().optional(),
  country: z.string().optional().describe("Of `group_by=country`."),
  original_currency: z.string().optional().describe("Of `group_by=currency`."),
  plan_interval: z.enum(planIntervals).optional().describe("Of `group_by=plan_interval`."),
};
const groupFields = z.object(groupShape);
export type GroupFields = z.output<typeof groupFields>;

/** Of one interval: its days, the last one not included. */
export const intervalDays = {
  from: z.iso.date(),
  to: z.iso.date().describe("The day after the last."),
};
