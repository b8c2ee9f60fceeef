/** `GET /v1/transactions`: newest first, in pages. */
import type Router from "@koa/router";
import { z } from "zod";
import type { CatalogueView } from "../../backends/catalogue-view.js";
import { requireKey } from "../../backends/http/auth.js";
import { readQuery } from "../../backends/http/query.js";
import { accessOf } from "../../backends/http/state.js";
import type { Service } from "../../backends/service.js";
import {
  type TransactionsAnswer,
  transactionStatuses,
  transactionsQueryParameters,
} from "../../schemas/http-transactions.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { Cursors } from "../cursors.js";
import { openWalk } from "../pages.js";
import { presentTransactionRow } from "../presenters/transaction.js";
import { readTransactions } from "../transaction-pages.js";
import { clocksOf, completeText } from "./reading.js";

export function transactionsRoute(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
): void {
  router.get("/v1/transactions", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, "money");
    const query = readQuery(ctx, transactionsQueryParameters);
    const walk = openWalk({
      endpoint: "transactions",
      access,
      query,
      filters: { provider: query.provider, status: query.status },
      clocks,
      cursors,
      filtersSchema,
      positionSchema,
    });
    const page = await readTransactions(
      service.clickhouse,
      walk.asOf,
      // What is known may be of later than `at` only if `at` was asked for.
      { ...walk.filters, isPast: walk.asOf.at < walk.asOf.knownAt },
      walk.after,
      walk.limit,
    );
    const catalogue = await catalogues.of(access.workspace, access.environment);
    ctx.body = {
      status: "success",
      data: page.rows.map((row) =>
        presentTransactionRow(
          row,
          catalogue.productOf({ provider: row.provider, externalId: row.external_id }),
        ),
      ),
      pagination: walk.pagination(page.last),
      complete_to: completeText(clocks),
    } satisfies TransactionsAnswer;
  });
}

const filtersSchema = z.object({
  provider: z.enum(providerTokens).optional(),
  status: z.enum(transactionStatuses).optional(),
});

const positionSchema = z.object({ timestamp: z.number().int(), id: z.string() });
