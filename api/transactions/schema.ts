/** Which transactions `GET /v1/transactions` lists, and in which order. */
import { z } from "zod";
import { clocksQuery } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { pageQuery } from "../../schemas/http/pages.js";
import { accountId, countryCodes, currencyCode, moment } from "../../schemas/http/series.js";
import { transactionStatuses, transactionTypes } from "../../schemas/http/transactions.js";
import { providerTokens } from "../../schemas/provider-tokens.js";

const newestFirst = "-timestamp";
const transactionOrders = ["timestamp", "-normalized_amount", "normalized_amount"] as const;
/** Another order than newest first. */
export type TransactionOrder = (typeof transactionOrders)[number];

export function orderOf({ sort }: Pick<TransactionsQuery, "sort">): TransactionOrder | null {
  return sort === undefined || sort === newestFirst ? null : sort;
}

export const transactionsQueryParameters = z.object({
  provider: z.enum(providerTokens).optional(),
  status: z.enum(transactionStatuses).optional(),
  type: z.enum(transactionTypes).optional(),
  product: z.string().min(1).max(100).optional().meta({
    description: "Id of a unified product, as SKUs are grouped today: that of the largest line.",
  }),
  currency: currencyCode.optional().meta({ description: "`original_currency`" }),
  country: countryCodes.optional().meta({
    description: "`customer_country`: one or several, with commas: `DE,FR`.",
  }),
  account: accountId.optional(),
  search: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .meta({
      description:
        "A provider's own id: of the payment, or of what it paid (an invoice, an order, a " +
        "checkout session), or of a refund that names no sale; or the `id` itself.",
    }),
  from: moment.optional().meta({
    type: "string",
    description: "Paid then or later: a date (its 00:00 UTC) or a date-time.",
  }),
  to: moment.optional().meta({
    type: "string",
    description: "Paid before then: the moment itself is not included.",
  }),
  sort: z
    .enum([newestFirst, ...transactionOrders])
    .optional()
    .meta({ description: "With `-` descending; of equals by `id`. Default: `-timestamp`." }),
  ...pageQuery,
  ...clocksQuery,
  ...formatQuery,
});
export type TransactionsQuery = z.output<typeof transactionsQueryParameters>;
