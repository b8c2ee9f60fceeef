/** Segments: filters under a name, usable wherever figures are asked for. */
import { z } from "zod";
import { manageEnvironment, name, timestamp, writtenEnvironment } from "./manage.js";
import { mrrCellQuery } from "./series.js";

/** Of one list. */
export const segmentAccountsMax = 10_000;
/** Characters of a list: ids and e-mails are a tenth of it. */
const customersLengthMax = 900_000;
const filterLengthMax = 5_000;

const { segment: _segment, ...shapes } = mrrCellQuery;

/** Monthly amounts of base currency, as text. */
export interface FirstPrice {
  readonly from: string;
  /** Exclusive, like the ends of periods; undefined: any more. */
  readonly below?: string | undefined;
}

const firstPrice = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,6})?-(\d{1,12}(\.\d{1,6})?)?$/, "must be amounts: 10-50 or 50-")
  .transform((text): FirstPrice => {
    const [from = "0", below = ""] = text.split("-");
    return { from, ...(below === "" ? {} : { below }) };
  })
  .refine(({ from, below }) => below === undefined || Number(from) < Number(below), {
    message: "must begin below its end",
  });

const filterShapes = { ...shapes, first_price: firstPrice.optional() };

/** As text, which the parameter of the same name would take. */
function filter(parameter: keyof typeof filterShapes) {
  return z
    .string()
    .max(filterLengthMax)
    .superRefine((text, context) => {
      const issue = filterShapes[parameter].safeParse(text).error?.issues[0];
      if (issue === undefined) return;
      context.addIssue({ code: "custom", message: issue.message });
    })
    .optional();
}

export const segmentFilters = z
  .strictObject({
    provider: filter("provider"),
    product: filter("product"),
    currency: filter("currency"),
    country: filter("country"),
    plan_interval: filter("plan_interval"),
    vintage: filter("vintage"),
    first_price: filter("first_price").describe(
      "Accounts by the MRR they began with, in base currency: `10-50` from 10 and below 50, " +
        "`50-` from 50",
    ),
  })
  .describe("As the calls about figures take them; all of them hold");
export type SegmentFilters = z.output<typeof segmentFilters>;

/** Filters as text, read like the parameters of a call. */
export const readSegmentFilters = z.object(filterShapes);

const customers = z
  .string()
  .max(customersLengthMax)
  .describe(
    "These customers only: text or CSV with one in each line, of which the first column is read: " +
      "the id of an account, the provider's own id or the e-mail of a customer. Up to " +
      `${segmentAccountsMax} lines. Of sessions only`,
  );

export const newSegment = z
  .strictObject({
    name,
    environment: writtenEnvironment.optional().describe("Default: `Production`"),
    filters: segmentFilters.optional(),
    customers: customers.optional(),
  })
  .refine(
    ({ filters = {}, customers: list }) => list !== undefined || Object.keys(filters).length > 0,
    "must have filters or customers",
  );

export const changedSegment = z.strictObject({
  name: name.optional(),
  filters: segmentFilters.optional().describe("In place of those it has, as a new revision"),
  customers: customers.nullable().optional().describe("In place of the list; null: none any more"),
});

export const segment = z
  .object({
    id: z.string(),
    name: z.string(),
    environment: manageEnvironment,
    revision: z.int().describe("The newest; frozen links name one: `segment=<id>.<revision>`"),
    filters: segmentFilters,
    accounts: z.int().nullable().describe("How many accounts its list has; null: it has none"),
    created_at: timestamp,
  })
  .meta({ id: "Segment" });
export type SegmentView = z.output<typeof segment>;

export const writtenSegment = segment.extend({
  unmatched: z
    .array(z.string())
    .optional()
    .describe("Of a list that was sent: lines that belong to no account; they are not kept"),
});
