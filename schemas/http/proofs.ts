/** Proofs: public, signed pages of one figure. */
import { z } from "zod";
import { instantOrDay } from "./clocks.js";
import { knownBy, name, timestamp } from "./manage.js";
import { segmentFilters } from "./segments.js";
import { segmentText } from "./series.js";

const proofFigures = [
  "mrr",
  "arr",
  "active_subscribers",
  "arpa",
  "mrr_growth",
  "customer_churn",
  "mrr_churn",
  "net_mrr_churn",
  "revenue",
  "net_revenue",
  "mrr_over_time",
  "subscribers_over_time",
  "revenue_over_time",
] as const;
export type ProofFigure = (typeof proofFigures)[number];

const shownAs = z
  .enum(["exact", "two_digits", "at_least", "index"])
  .describe(
    "`two_digits`: rounded to two significant digits. `at_least`: 1, 2 or 5 and zeros, never " +
      "above the figure; not of rates. `index`: amounts are hidden, the first month above 0 is " +
      "100; of figures over time only",
  );
export type ShownAs = z.infer<typeof shownAs>;

const filterText = z.string().min(1).max(500).optional();
const proofFilters = z.strictObject({
  provider: filterText,
  product: filterText,
  currency: filterText,
  country: filterText,
  plan_interval: filterText,
  vintage: filterText,
  segment: segmentText.optional().describe("Kept at one revision; the statement says what it is"),
});
export type ProofFilters = z.infer<typeof proofFilters>;

const monthsMax = 36;
export const monthsByDefault = 12;

export const newProof = z.strictObject({
  figure: z.enum(proofFigures),
  title: name,
  business: name.optional().describe("As strangers read it. Default: the name of the workspace"),
  filters: proofFilters
    .optional()
    .describe("As the figure's call of the interface takes them; they are in the statement"),
  months: z
    .int()
    .min(1)
    .max(monthsMax)
    .optional()
    .describe(
      `Of revenue, churn and figures over time: whole calendar months. Default: ${monthsByDefault}`,
    ),
  shown_as: shownAs.optional().describe("Default: `exact`"),
  frozen: z.boolean().optional().describe("Shows for ever what is known now. Default: false"),
  at: instantOrDay
    .optional()
    .meta({ type: "string", description: "Of a frozen one: as of then. Default: now" }),
  expires_at: timestamp.optional().describe("Default: when it is revoked"),
});
export type NewProof = z.output<typeof newProof>;

export const proof = z
  .object({
    id: z.string(),
    url: z.string().describe("Of the page. With `.json`: the statement; `/embed`: for an iframe"),
    title: z.string(),
    business: z.string(),
    figure: z.enum(proofFigures),
    filters: proofFilters,
    months: z.int().nullable(),
    shown_as: shownAs,
    at: timestamp.nullable().describe("Null: it is live"),
    known_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    revoked_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: "Proof" });
export type ProofView = z.output<typeof proof>;

const value = z.number().nullable().describe("Rounded as chosen; null: there is none");

/** What a proof says: the claims of its token but for who says so, of which address, and when. */
export const proofClaims = z
  .object({
    title: z.string(),
    business: z.string().describe("As it calls itself"),
    figure: z.enum(proofFigures),
    name: z.string(),
    definition: z.url().describe("What the figure means"),
    filters: proofFilters.describe("Which part of the business it is of; empty: all of it"),
    segment: z
      .object({ filters: segmentFilters, is_of_list: z.boolean() })
      .nullable()
      .describe("What that of `filters` is, at its revision; a list of customers is not shown"),
    period: z
      .object({ from: z.iso.date(), to: z.iso.date().describe("The day after the last") })
      .nullable()
      .describe("Null: of the moment `at`"),
    shown_as: shownAs,
    currency: z.string().nullable().describe("ISO 4217; null: it is no amount"),
    text: z.string().describe("For people"),
    value,
    series: z
      .array(z.object({ month: z.string().describe("`YYYY-MM`"), value }))
      .nullable()
      .describe("Of figures over time; MRR and subscribers at the end of each month, or now"),
    frozen: z.boolean(),
    at: timestamp.describe("Counts what happened up to then"),
    known_at: timestamp.describe("Counts what was recorded up to then"),
    known_by: z
      .object({
        events: z
          .array(
            z.object({
              provider: z.string(),
              checked: z
                .string()
                .describe(
                  "`signature`, `token`, `authorization`, `url`: calls of the provider; `api`, " +
                    "`export`: read from it; `api_key`: sent by the business itself",
                ),
              share_pct: z.int().describe("Of all events that count, cut off"),
            }),
          )
          .describe("What was booked, and how it was checked; the largest share first"),
        integrations: z.array(
          z.object({
            provider: z.string(),
            connected_at: timestamp,
            months: z.record(knownBy, z.int()).describe("How the money of so many months is known"),
            reconciliation: z
              .object({ month: z.string(), score_pct: z.number(), compared_at: timestamp })
              .nullable()
              .describe("Cents that agree with the provider's list, of the last month compared"),
          }),
        ),
      })
      .describe("Of the providers that `filters` leave"),
  })
  .meta({ id: "ProofClaims" });
export type ProofClaims = z.output<typeof proofClaims>;

export const proofKey = z.object({
  id: z.string().describe("`kid` of statements, as /.well-known/jwks.json lists it"),
  signs_from: timestamp.describe("Later than it is listed, so that no copy of the list lacks it"),
});
