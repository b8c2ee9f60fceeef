/** `GET /v1/transactions` and the messages of the stream (`spec.md` 2.1, 4.4, 4.6). */
import { z } from "zod";
import { completeAnswer } from "./clocks.js";
import { customerField } from "./customers.js";
import { pagination } from "./pages.js";
import { severalNote, severalOf } from "./several.js";
import { providerTokens } from "../provider-tokens.js";

export const providerToken = z.enum(providerTokens).meta({ id: "Provider" });

export const transactionStatuses = ["succeeded", "refunded", "disputed"] as const;

export const transactionTypes = ["subscription", "one_time", "refund"] as const;

export const streamQueryParameters = z.object({
  provider: severalOf(providerTokens).optional().describe(severalNote),
  status: severalOf(transactionStatuses).optional().describe(severalNote),
  after: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe(
      "`cursor` of the last message seen, or `X-Cursor` before the first: " +
        "missed messages are sent first.",
    ),
  sample: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      "Messages a second at most, for readers that cannot take all: each then says in " +
        "`skipped` how many were left out before it. The last of a burst is always sent.",
    ),
});
export type StreamQuery = z.output<typeof streamQueryParameters>;

export const transaction = z.object({
  id: z.string().describe("`tx_norm_…`"),
  version: z.int().describe("Grows with what is known of the payment."),
  provider: providerToken,
  product_id: z.string().describe("The product the SKU belongs to today."),
  product_name: z.string().describe("Of the largest line."),
  gross_amount: z.number().describe("What the customer paid, tax included."),
  original_currency: z.string().describe("ISO 4217"),
  normalized_amount: z.number().describe("`gross_amount × fx_rate`, rounded."),
  base_currency: z.string().describe("ISO 4217, of the workspace."),
  fx_rate: z.number().describe("Base currency for one unit of the original."),
  fx_date: z.string().describe("`YYYY-MM-DD`, when that rate was published."),
  refunded_amount: z.number().describe("In `original_currency`."),
  tax_amount: z.number().nullable().describe("Within `gross_amount`, if reported."),
  fee_amount: z.number().nullable().describe("Kept by the provider, if reported."),
  customer_country: z.string().describe("ISO 3166-1; `ZZ` when nobody reports it."),
  type: z.enum(transactionTypes),
  status: z.enum(transactionStatuses),
  timestamp: z.iso.datetime().describe("When it was paid."),
  account: z.string().describe("A keyed hash of the customer; empty for a guest."),
});
export type Transaction = z.output<typeof transaction>;

const listedTransaction = transaction.extend(customerField).meta({ id: "Transaction" });
export type ListedTransaction = z.output<typeof listedTransaction>;

export const transactionsAnswer = completeAnswer("TransactionsAnswer", {
  data: z.array(listedTransaction).describe("Newest first (timestamp, then id)."),
  pagination,
});
export type TransactionsAnswer = z.output<typeof transactionsAnswer>;

export const streamMessage = transaction
  .extend({
    cursor: z.string().describe("For `after` of the next connection."),
    skipped: z.int().optional().describe("With `sample`: left out before this one."),
  })
  .meta({ id: "StreamMessage", description: "A new version of a transaction." });
export type StreamMessage = z.output<typeof streamMessage>;
