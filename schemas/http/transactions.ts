/** `GET /v1/transactions` and the messages of the stream (`spec.md` 2.1, 4.4, 4.6). */
import { z } from "zod";
import { completeAnswer } from "./clocks.js";
import { customerField } from "./customers.js";
import { pagination } from "./pages.js";
import { providerTokens } from "../provider-tokens.js";

export const providerToken = z.enum(providerTokens).meta({ id: "Provider" });

export const transactionStatuses = ["succeeded", "refunded", "disputed"] as const;

export const transactionTypes = ["subscription", "one_time", "refund"] as const;

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
