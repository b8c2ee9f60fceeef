/** `GET /v1/transactions`: newest first or in another order, in pages. */
import { z } from "zod";
import type { ExportRow } from "../exports/columns.js";
import { tables } from "../exports/tables.js";
import { cursorInvalid } from "../reading/cursors.js";
import { skusOf } from "../reading/metric-filters.js";
import { listRoute } from "../reading/routes.js";
import type { OrderPosition } from "./candidates-query.js";
import { PassingRows } from "./filter-selectivity.js";
import type { TransactionRow } from "./listed-row.js";
import { countTransactions, readAllTransactions, readTransactions } from "./pages.js";
import { readAllOrderedTransactions, readOrderedTransactions } from "./ordered-pages.js";
import { presentTransactionRow } from "./presenter.js";
import type { TransactionPosition } from "./query.js";
import { orderOf, transactionsQueryParameters } from "./schema.js";
import { transactionsAnswer } from "../../schemas/http/transactions.js";
import { transactionsNamed } from "./search.js";

const passing = new PassingRows();

export const transactionsRoute = listRoute(
  {
    path: "/v1/transactions",
    summary: "Normalized transactions",
    query: transactionsQueryParameters,
    answer: transactionsAnswer,
    position: z.union([
      z.object({ timestamp: z.number().int(), id: z.string() }),
      z.object({ key: z.string().regex(/^-?\d+$/), id: z.string() }),
    ]),
    table: tables.transactions,
    accountOf: (row: ExportRow) => row["account"],
    // A status as of a past moment is read from the ledger, which follows the transactions.
    figures: ({ at }: { readonly at?: number | undefined }) =>
      at === undefined ? ("transactions" as const) : ("all" as const),
  },
  async ({ service: { clickhouse }, query, asOf, ...asked }) => {
    const part = await asked.narrowed(query);
    const { search, product } = part;
    const catalogue = await asked.catalogue();
    const wanted = {
      ...part,
      ids: search === undefined ? undefined : await transactionsNamed(clickhouse, asOf, search),
      skus: product === undefined ? undefined : skusOf(product, catalogue),
      // Later facts can be known only if `at` was asked for.
      isPast: asOf.at < asOf.knownAt,
    };
    const present = (row: TransactionRow) => presentTransactionRow(row, catalogue);
    const count = () => countTransactions(clickhouse, asOf, wanted);
    const sort = orderOf(query);
    if (sort === null) {
      return {
        present,
        page: (after, limit) =>
          readTransactions(clickhouse, asOf, wanted, newestBefore(after), limit, passing),
        all: () => readAllTransactions(clickhouse, asOf, wanted),
        count,
      };
    }
    const list = { clickhouse, asOf, wanted, sort };
    return {
      present,
      page: (after, limit) => readOrderedTransactions(list, placeAfter(after), limit),
      all: () => readAllOrderedTransactions(list),
      count,
    };
  },
);

type Position = TransactionPosition | OrderPosition;

/** A cursor holds the order it is of; one with another place was made by another version. */
function newestBefore(position: Position | null): TransactionPosition | null {
  if (position !== null && "key" in position) throw cursorInvalid();
  return position;
}

function placeAfter(position: Position | null): OrderPosition | null {
  if (position !== null && "timestamp" in position) throw cursorInvalid();
  return position;
}
