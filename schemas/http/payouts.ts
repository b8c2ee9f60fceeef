/** Payouts of a provider to the merchant's bank, as the management interface answers them. */
import { z } from "zod";

const minor = z.number();

export const payoutsQuery = z.object({
  from: z.iso.date().optional().describe("The first day; 90 days before `to` by default"),
  to: z.iso
    .date()
    .optional()
    .describe("The last day, inclusive; by default so late that payouts under way are listed"),
});

const money = {
  currency: z.string(),
  exponent: z.int().describe("Decimals of the smallest unit"),
};

const payout = z.object({
  id: z.string().describe("The provider's id"),
  status: z.string().describe("The provider's word"),
  created_at: z.iso.datetime(),
  arrives_at: z.iso.datetime().nullable().describe("At the bank; null: not known"),
  ...money,
  amount_minor: minor.describe("Below 0 where money was taken from the bank"),
});

export const payouts = z.object({
  from: z.iso.date(),
  to: z.iso.date(),
  dated_by: z.enum(["arrival", "creation"]).describe("What `from` and `to` are compared with"),
  payouts: z.array(payout).describe("Newest first"),
  left_out: z.boolean().describe("There are more, which are older: ask for an earlier span"),
  not_shown: z.array(z.string()).describe("What the provider does not say, in sentences"),
});
export type PayoutsView = z.infer<typeof payouts>;

/** The last is what the others leave unexplained. */
const kinds = ["payment", "refund", "dispute", "fee", "adjustment", "remainder"] as const;
export type PayoutKind = (typeof kinds)[number];

const line = z.object({
  kind: z.enum(kinds),
  id: z
    .string()
    .nullable()
    .describe(
      "The provider's id of the movement, its place where it has none; null: the remainder",
    ),
  what: z.string().nullable().describe("The provider's word for it"),
  at: z.iso.datetime().nullable(),
  payment: z.string().nullable().describe("The provider's id of the payment; null: it is of none"),
  transaction: z.string().nullable().describe("tx_norm_…; null: no payment, or it is not booked"),
  ...money,
  amount_minor: minor,
  fee_minor: minor,
  net_minor: minor.describe("amount less fee: what it adds to the payout"),
});
export type PayoutLineView = z.infer<typeof line>;

export const openedPayout = payout.extend({
  sums: z
    .array(
      z.object({
        kind: z.enum(kinds),
        count: z.int(),
        amount_minor: minor,
      }),
    )
    .describe(
      "Of the payout's currency, fees apart from what they were taken from: adds up to the payout",
    ),
  lines: z
    .array(line)
    .describe(
      "In the provider's order; a remainder last, where the others do not add up to the payout",
    ),
  left_out: z.boolean().describe("There are more lines, which are in the remainder"),
  problem: z.string().nullable().describe("Why there is a remainder, where it is known"),
});
export type OpenedPayoutView = z.infer<typeof openedPayout>;
