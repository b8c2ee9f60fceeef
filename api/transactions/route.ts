/** `GET /v1/transactions`: newest first, in pages. */
import { z } from "zod";
import { tables } from "../exports/tables.js";
import { skusOf } from "../reading/metric-filters.js";
import { type ReadApi, listRoute } from "../reading/routes.js";
import { PassingRows } from "./filter-selectivity.js";
import type { TransactionRow } from "./listed-row.js";
import { countTransactions, readAllTransactions, readTransactions } from "./pages.js";
import { presentTransactionRow } from "./presenter.js";
import { transactionsQueryParameters } from "./schema.js";
import { transactionsNamed } from "./search.js";

export function transactionsRoute(api: ReadApi): void {
  const { clickhouse } = api.service;
  const passing = new PassingRows();
  const options = {
    path: "/v1/transactions",
    parameters: transactionsQueryParameters,
    position: z.object({ timestamp: z.number().int(), id: z.string() }),
    table: tables.transactions,
    // A status as of a past moment is read from the ledger, which follows the transactions.
    figures: ({ at }: { readonly at?: number | undefined }) =>
      at === undefined ? ("transactions" as const) : ("money" as const),
  };
  listRoute(api, options, async ({ query, asOf, ...asked }) => {
    const { search, product } = query;
    const catalogue = await asked.catalogue();
    const wanted = {
      ...query,
      ids: search === undefined ? undefined : await transactionsNamed(clickhouse, asOf, search),
      skus: product === undefined ? undefined : skusOf(product, catalogue),
      // What is known may be of later than `at` only if `at` was asked for.
      isPast: asOf.at < asOf.knownAt,
    };
    return {
      present: (row: TransactionRow) => presentTransactionRow(row, catalogue),
      page: (after, limit) => readTransactions(clickhouse, asOf, wanted, after, limit, passing),
      all: () => readAllTransactions(clickhouse, asOf, wanted),
      count: () => countTransactions(clickhouse, asOf, wanted),
    };
  });
}
