/** `GET /v1/accounts/{id}`: one customer, its subscriptions and all that happened. */
import type Router from "@koa/router";
import { z } from "zod";
import type { CatalogueView } from "../../catalogue/view.js";
import { limits } from "../../config.js";
import { requireKey } from "../../http/auth.js";
import { notFound } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { providerToken } from "../../schemas/http/transactions.js";
import { formatOf, refusePages } from "../exports/formats.js";
import type { Exports } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { showMrr } from "../reading/amounts.js";
import type { Cursors } from "../reading/cursors.js";
import { readMovements } from "../reading/movement-reading.js";
import { type PinnedAsOf, openWalk } from "../reading/pages.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { presentAccount, presentAccountSubscription } from "./presenter.js";
import {
  type AccountRow,
  type AccountSubscriptionRow,
  accountSubscriptionsQuery,
  accountsQuery,
} from "./query.js";
import { type AccountAnswer, accountQueryParameters } from "./schema.js";
import { type PayerRow, payerQuery } from "./timeline-query.js";
import { type TimelinePosition, readTimeline } from "./timeline.js";

export function accountRoute(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
  exports: Exports,
): void {
  router.get("/v1/accounts/:id", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const account = String(ctx.params["id"]);
    const query = readQuery(ctx, accountQueryParameters);
    const format = formatOf(ctx, query.format);
    if (format !== null) refusePages(query);
    const clocks = await clocksOf(service, access);
    const walk = openWalk({
      endpoint: `accounts/${account}`,
      access,
      query,
      filters: {},
      clocks,
      cursors,
      filtersSchema: z.object({}),
      positionSchema,
    });
    const { asOf } = walk;
    const currency = access.baseCurrency;
    const catalogue = await catalogues.of(access.workspace, access.environment);
    const found = await readAccount(service, asOf, account);
    if (found === null) throw notFound("account_not_found", "There is no such account as of then.");
    const of = { asOf, account, catalogue, currency };
    if (format !== null) {
      return exports.send(ctx, format, {
        ...tables.timeline,
        asOf,
        clocks,
        count: async () => null,
        async *pages() {
          let after: TimelinePosition | null = null;
          do {
            const page = await readTimeline(service, of, after, limits.exportPageRows);
            yield page.items;
            after = page.last;
          } while (after !== null);
        },
      });
    }
    const { items, last } = await readTimeline(service, of, walk.after, walk.limit);
    const shown = found.row === undefined ? null : presentAccount(found.row, currency);
    ctx.body = {
      status: "success",
      data: {
        id: account,
        provider: providerToken.parse(found.provider),
        vintage: shown?.vintage ?? null,
        active: shown?.active ?? false,
        mrr: shown?.mrr ?? showMrr(0n, currency),
        starting_mrr: shown?.starting_mrr ?? showMrr(0n, currency),
        currency,
        subscriptions: found.subscriptions.map((row) =>
          presentAccountSubscription(row, catalogue, currency),
        ),
        timeline: items,
      },
      pagination: walk.pagination(last),
      complete_to: completeText(clocks),
    } satisfies AccountAnswer;
  });
}

/** @returns null when neither a movement nor a payment is of it */
async function readAccount(service: Service, asOf: PinnedAsOf, account: string) {
  const all = { cell: { condition: "true", params: {} }, account };
  const { clickhouse } = service;
  const [rows, subscriptions, [payer]] = await Promise.all([
    readMovements<AccountRow>(clickhouse, (as) => accountsQuery(as, all, null, 1), asOf),
    readMovements<AccountSubscriptionRow>(
      clickhouse,
      (as) => accountSubscriptionsQuery(as, account, limits.eventRowsMax),
      asOf,
    ),
    rowsOf<PayerRow>(service, payerQuery(asOf, account)),
  ]);
  const provider = rows[0]?.provider ?? payer?.provider;
  return provider === undefined ? null : { row: rows[0], subscriptions, provider };
}

const positionSchema = z.object({ at: z.number().int(), items: z.number().int() });
