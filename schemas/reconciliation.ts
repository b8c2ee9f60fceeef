/** What a comparison of one month says: what a provider lists beside what is booked. */
import { z } from "zod";

/** Why a payment or dispute differs. In the order in which a person should look at them. */
const differenceReasons = [
  "amount_differs",
  "other_currency",
  "not_told",
  "not_at_provider",
  "rejected",
  "mirrored",
  "before_connection",
  "told_later",
  "not_listed",
] as const;
export type DifferenceReason = (typeof differenceReasons)[number];

/** Of one payment, or of one time that money of a dispute moved. */
const side = z.object({
  currency: z.string(),
  amount_minor: z
    .int()
    .describe("In the smallest unit of the currency; of a dispute: what it took"),
  refunded_minor: z.int().describe("Of what was paid; of a dispute: what came back"),
});
export type Side = z.infer<typeof side>;

const differenceKinds = ["payment", "refund", "dispute"] as const;
export type DifferenceKind = (typeof differenceKinds)[number];

const difference = z.object({
  payment: z.string().describe("The provider's id of the payment"),
  // Months that were compared before there were any have none.
  dispute: z
    .string()
    .nullable()
    .default(null)
    .describe("The provider's id of the dispute whose money moved; null: the payment itself"),
  transaction: z.string().nullable().describe("tx_norm_… of the payment; null: it is not booked"),
  at: z.iso.datetime().describe("When it was paid, or money of the dispute moved"),
  reason: z.enum(differenceReasons),
  listed: side.nullable().describe("By the provider; null: it is not in its list"),
  booked: side.nullable(),
});
export type Difference = z.infer<typeof difference>;

const sums = z.object({
  count: z.int().describe("Payments"),
  amount_minor: z.number(),
  refunded_minor: z.number(),
  disputed_minor: z.number().default(0).describe("What disputes took"),
  reinstated_minor: z.number().default(0).describe("What came back of it"),
});

const score = {
  agreed_minor: z.number().describe("What both sides say"),
  compared_minor: z
    .number()
    .describe(
      "What either side says, payments, refunds and what disputes took and gave back added up; " +
        "without `told_later` and `not_listed`",
    ),
  score_pct: z
    .number()
    .nullable()
    .describe("agreed ÷ compared × 100, never rounded up; null where there is nothing to compare"),
};

/** What is taken of payments. */
export const costKinds = ["fee", "tax"] as const;
const costKind = z.enum(costKinds);

const costs = z.object({
  kind: costKind,
  currency: z.string(),
  exponent: z.int(),
  payments: z.int().describe("That both sides have, and of which the provider lists it"),
  listed_minor: z.number(),
  booked_minor: z.number(),
  differing: z.int().describe("Of the payments"),
});

const costDifference = z.object({
  kind: costKind,
  payment: z.string(),
  transaction: z.string(),
  at: z.iso.datetime(),
  currency: z.string(),
  listed_minor: z.int(),
  booked_minor: z.int().nullable().describe("Null: nothing of it is booked"),
});
export type CostDifference = z.infer<typeof costDifference>;

const ownFigure = z.object({
  figure: z
    .enum(["mrr", "revenue", "refunds", "chargebacks"])
    .describe("MRR at the end; the others of the month up to it"),
  through: z.iso.datetime().describe("The end of the last day that the provider has worked out"),
  currency: z.string().nullable().describe("The provider's; null: a number of things"),
  exponent: z.int(),
  listed_minor: z.number().describe("What the provider's own dashboard says"),
  booked_minor: z
    .number()
    .nullable()
    .describe("Ours, counted as the provider does where that can be told; null: no rate is known"),
  figure_minor: z.number().nullable().describe("Ours, as our own figures count"),
  why: z
    .string()
    .nullable()
    .describe("Why it may differ though nothing is missing; null: it does not differ"),
});
export type OwnFigureBeside = z.infer<typeof ownFigure>;

export const monthReport = z.object({
  ...score,
  currencies: z.array(
    z.object({
      currency: z.string(),
      exponent: z.int().describe("Decimals of the smallest unit"),
      listed: sums.describe("All that the provider lists"),
      booked: sums.describe("All that is booked of this integration"),
      ...score,
    }),
  ),
  differences_total: z.int().describe("Of all rows, kept or left out"),
  reasons: z
    .partialRecord(z.enum(differenceReasons), z.int())
    .describe("Rows of each, all of them"),
  // Months that were compared before there were any have none.
  kinds: z
    .partialRecord(z.enum(differenceKinds), z.int())
    .default({})
    .describe("The same rows by what differs; a refund: of a payment that agrees"),
  differences: z.array(difference).describe("The largest of them"),
  left_out: z.int().describe("Rows that are counted above and not kept"),
  // Months that were compared before there were any have none.
  costs: z.array(costs).default([]).describe("Fees and taxes; they are not in the score"),
  cost_differences: z
    .array(costDifference)
    .default([])
    .describe("Payments whose fee or tax differs, the largest differences first"),
  own_figures: z
    .array(ownFigure)
    .default([])
    .describe("Figures of the provider's dashboard beside ours; they are not in the score"),
  own_figures_problem: z.string().nullable().default(null).describe("Why some could not be had"),
});
export type MonthReport = z.infer<typeof monthReport>;

/** Of agreeing and compared minor units, in hundredths that are cut off. */
export function scorePct(agreed: number | bigint, compared: number | bigint): number | null {
  const all = BigInt(compared);
  return all === 0n ? null : Number((BigInt(agreed) * 10_000n) / all) / 100;
}
