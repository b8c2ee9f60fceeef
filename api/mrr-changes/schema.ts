/** `GET /v1/metrics/mrr/changes`: why one figure of MRR was read differently at two moments. */
import { z } from "zod";
import { completeAnswer, instant, instantOrDay } from "../../schemas/http/clocks.js";
import { customerField } from "../../schemas/http/customers.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { pageQuery, pagination } from "../../schemas/http/pages.js";
import { movementKind } from "../movement-series/schema.js";
import { cellQuery } from "../../schemas/http/series.js";
import { providerToken } from "../../schemas/http/transactions.js";

const mrrChangeSorts = ["-at", "at", "-mrr", "mrr", "-recorded_at", "recorded_at"] as const;
export type MrrChangeSort = (typeof mrrChangeSorts)[number];

export const mrrChangesQueryParameters = z.object({
  from_known_at: instant.optional().meta({
    description: "The first reading: what was recorded up to then. Needed on the first page.",
  }),
  to_known_at: instant.optional().meta({
    description: "The second reading. Not after `complete_to`, which is the default.",
  }),
  at: instantOrDay.optional().meta({
    type: "string",
    description: "The moment whose MRR both readings report. Default: `from_known_at`.",
  }),
  sort: z.enum(mrrChangeSorts).optional().meta({
    description: "With `-` descending; of equals the newest event first. Default: `-at`.",
  }),
  provider: cellQuery.provider,
  segment: cellQuery.segment,
  ...pageQuery,
  ...formatQuery,
});

export type MrrChangesQuery = z.output<typeof mrrChangesQueryParameters>;

const exact = z.string().meta({ description: "The same unrounded: decimal text, six places." });

const mrrReading = z
  .object({
    known_at: z.iso.datetime(),
    mrr: z.number(),
    mrr_exact: exact,
    active_subscribers: z.int(),
  })
  .meta({ id: "MrrReading" });

export const mrrChange = z.object({
  event_id: z.string().meta({ description: "The raw event that changed it." }),
  recorded_at: z.iso.datetime().meta({ description: "Its receipt." }),
  account: z.string().meta({ description: "A keyed hash." }),
  provider: providerToken,
  subscription: z.string(),
  product_id: z.string().meta({ description: "The product the SKU belongs to today." }),
  product_name: z.string(),
  external_id: z.string(),
  currency: z.string().meta({ description: "Of the price." }),
  country: z.string(),
  kind: movementKind,
  vintage: z.string().meta({ description: "`YYYY-MM`" }),
  at: z.iso.datetime().meta({ description: "When the movement happened." }),
  mrr: z.number().meta({ description: "What the second reading has more, signed." }),
  mrr_exact: exact,
  active_subscribers: z.int().meta({ description: "The same of accounts with MRR." }),
});
export type MrrChangeView = z.output<typeof mrrChange>;

export const mrrChangesAnswer = completeAnswer("MrrChangesAnswer", {
  data: z.array(mrrChange.extend(customerField).meta({ id: "MrrChange" })).meta({
    description:
      "Over all pages `mrr_exact` and `active_subscribers` add up to " +
      "`readings.difference`, to the last digit.",
  }),
  readings: z.object({
    at: z.iso.datetime(),
    currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
    from: mrrReading,
    to: mrrReading,
    difference: mrrReading.omit({ known_at: true }).meta({ id: "MrrDifference" }),
  }),
  totals: mrrReading
    .omit({ known_at: true })
    .extend({ changes: z.int() })
    .meta({ id: "MrrChangesTotals", description: "Of all pages." }),
  pagination,
});
export type MrrChangesAnswer = z.output<typeof mrrChangesAnswer>;
