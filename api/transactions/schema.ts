/** Which transactions `GET /v1/transactions` lists, and in which order. */
import { z } from "zod";
import { clocksQuery } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { pageQuery } from "../../schemas/http/pages.js";
import {
  accountId,
  cellQuery,
  countryCodes,
  currencyCodes,
  moment,
  productIds,
} from "../../schemas/http/series.js";
import { severalNote, severalOf } from "../../schemas/http/several.js";
import { transactionStatuses, transactionTypes } from "../../schemas/http/transactions.js";

const newestFirst = "-timestamp";
const transactionOrders = ["timestamp", "-normalized_amount", "normalized_amount"] as const;
export type TransactionOrder = (typeof transactionOrders)[number];

export function orderOf({ sort }: Pick<TransactionsQuery, "sort">): TransactionOrder | null {
  return sort === undefined || sort === newestFirst ? null : sort;
}

export const transactionsQueryParameters = z.object({
  provider: cellQuery.provider,
  segment: cellQuery.segment,
  status: severalOf(transactionStatuses).optional().meta({ description: severalNote }),
  type: severalOf(transactionTypes).optional().meta({ description: severalNote }),
  product: productIds.optional().meta({
    description:
      "Ids of unified products, as SKUs are grouped today: that of the largest line. " +
      severalNote,
  }),
  currency: currencyCodes.optional().meta({
    description: `\`original_currency\`. ${severalNote}`,
  }),
  country: countryCodes.optional().meta({
    description: `\`customer_country\`. ${severalNote}`,
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
