/** `GET /v1/transactions`: newest first, in pages. */
import type Router from "@koa/router";
import { z } from "zod";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import {
  type TransactionsAnswer,
  transactionStatuses,
  transactionTypes,
} from "../../schemas/http/transactions.js";
import { type TransactionsQuery, transactionsQueryParameters } from "./schema.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import { skusOf } from "../reading/metric-filters.js";
import type { Cursors } from "../reading/cursors.js";
import { formatOf, refusePages } from "../exports/formats.js";
import type { Exports } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { openWalk } from "../reading/pages.js";
import { PassingRows } from "./filter-selectivity.js";
import { presentTransactionRow } from "./presenter.js";
import { transactionsNamed } from "./search.js";
import { countTransactions, readAllTransactions, readTransactions } from "./pages.js";
import { checkRange, clocksOf, completeText } from "../reading/reading.js";
import type { TransactionRow } from "./listed-row.js";

export function transactionsRoute(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
  exports: Exports,
): void {
  const passing = new PassingRows();
  router.get("/v1/transactions", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const query = readQuery(ctx, transactionsQueryParameters);
    const format = formatOf(ctx, query.format);
    if (format !== null) refusePages(query);
    // A status as of a past moment is read from the ledger, which follows the transactions.
    const clocks = await clocksOf(
      service,
      access,
      query.at === undefined ? "transactions" : "money",
    );
    const walk = openWalk({
      endpoint: "transactions",
      access,
      query,
      filters: filtersOf(query),
      clocks,
      cursors,
      filtersSchema,
      positionSchema,
    });
    const catalogue = await catalogues.of(access.workspace, access.environment);
    const { product, search, ...filters } = walk.filters;
    const { asOf } = walk;
    const wanted = {
      ...filters,
      ids:
        search === undefined
          ? undefined
          : await transactionsNamed(service.clickhouse, asOf, search),
      skus: product === undefined ? undefined : skusOf(product, catalogue),
      // What is known may be of later than `at` only if `at` was asked for.
      isPast: walk.asOf.at < walk.asOf.knownAt,
    };
    const present = (row: TransactionRow) =>
      presentTransactionRow(
        row,
        catalogue.productOf({ provider: row.provider, externalId: row.external_id }),
      );
    if (format !== null) {
      return exports.send(ctx, format, {
        ...tables.transactions,
        asOf,
        clocks,
        count: () => countTransactions(service.clickhouse, asOf, wanted),
        async *pages() {
          const reads = readAllTransactions(service.clickhouse, asOf, wanted);
          for await (const rows of reads) yield rows.map(present);
        },
      });
    }
    const { clickhouse } = service;
    const page = await readTransactions(clickhouse, asOf, wanted, walk.after, walk.limit, passing);
    ctx.body = {
      status: "success",
      data: page.rows.map(present),
      pagination: walk.pagination(page.last),
      complete_to: completeText(clocks),
    } satisfies TransactionsAnswer;
  });
}

function filtersOf(query: TransactionsQuery): Filters {
  const { provider, status, type, product, currency, country, account, search, from, to } = query;
  checkRange(query);
  return { provider, status, type, product, currency, country, account, search, from, to };
}

/** As the cursor holds them; moments in ms since 1970. */
const filtersSchema = z.object({
  provider: z.enum(providerTokens).optional(),
  status: z.enum(transactionStatuses).optional(),
  type: z.enum(transactionTypes).optional(),
  product: z.string().optional(),
  currency: z.string().optional(),
  country: z.string().optional(),
  account: z.string().optional(),
  search: z.string().optional(),
  from: z.number().int().optional(),
  to: z.number().int().optional(),
});
type Filters = z.output<typeof filtersSchema>;

const positionSchema = z.object({ timestamp: z.number().int(), id: z.string() });
