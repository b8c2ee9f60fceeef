/** `GET /v1/accounts`: customers that have or had MRR, in pages. */
import type Router from "@koa/router";
import { z } from "zod";
import type { CatalogueView } from "../../catalogue/view.js";
import { limits } from "../../config.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import { formatOf, refusePages } from "../exports/formats.js";
import type { Exports } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import type { Cursors } from "../reading/cursors.js";
import { cellOf } from "../reading/metric-filters.js";
import { readMovements } from "../reading/movement-reading.js";
import { type PinnedAsOf, openWalk } from "../reading/pages.js";
import { clocksOf, completeText } from "../reading/reading.js";
import { presentAccount } from "./presenter.js";
import { type AccountRow, type AccountsWanted, accountsQuery } from "./query.js";
import { type AccountsAnswer, type AccountsQuery, accountsQueryParameters } from "./schema.js";
import { vintagesOf } from "./vintage.js";

export function accountsRoute(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
  exports: Exports,
): void {
  router.get("/v1/accounts", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const query = readQuery(ctx, accountsQueryParameters);
    const format = formatOf(ctx, query.format);
    if (format !== null) refusePages(query);
    const clocks = await clocksOf(service, access);
    const walk = openWalk({
      endpoint: "accounts",
      access,
      query,
      filters: filtersOf(query),
      clocks,
      cursors,
      filtersSchema,
      positionSchema,
    });
    const { vintage, active, ...cell } = walk.filters;
    const wanted = {
      cell: cellOf(cell, await catalogues.of(access.workspace, access.environment)),
      vintages: vintage === undefined ? undefined : vintagesOf(vintage),
      isActive: active === undefined ? undefined : active === "true",
    };
    const present = (row: AccountRow) => presentAccount(row, access.baseCurrency);
    const { asOf, after } = walk;
    if (format !== null) {
      return exports.send(ctx, format, {
        ...tables.accounts,
        asOf,
        clocks,
        count: async () => null,
        async *pages() {
          let page: Page = { rows: [], last: null };
          do {
            page = await readAccounts(service, asOf, wanted, page.last, limits.exportPageRows);
            yield page.rows.map(present);
          } while (page.last !== null);
        },
      });
    }
    const page = await readAccounts(service, asOf, wanted, after?.account ?? null, walk.limit);
    ctx.body = {
      status: "success",
      data: page.rows.map(present),
      pagination: walk.pagination(page.last === null ? null : { account: page.last }),
      complete_to: completeText(clocks),
    } satisfies AccountsAnswer;
  });
}

interface Page {
  readonly rows: AccountRow[];
  /** The account the next page begins after; null at the end. */
  readonly last: string | null;
}

async function readAccounts(
  { clickhouse }: Pick<Service, "clickhouse">,
  asOf: PinnedAsOf,
  wanted: AccountsWanted,
  after: string | null,
  limit: number,
): Promise<Page> {
  const found = await readMovements<AccountRow>(
    clickhouse,
    (reading) => accountsQuery(reading, wanted, after, limit + 1),
    asOf,
  );
  const rows = found.slice(0, limit);
  return { rows, last: found.length > limit ? (rows.at(-1)?.account ?? null) : null };
}

function filtersOf(query: AccountsQuery): Filters {
  const { vintage, active, provider, product, currency, country } = query;
  return { vintage, active, provider, product, currency, country };
}

const filtersSchema = z.object({
  vintage: z.string().optional(),
  active: z.enum(["true", "false"]).optional(),
  provider: z.enum(providerTokens).optional(),
  product: z.string().optional(),
  currency: z.string().optional(),
  country: z.string().optional(),
});
type Filters = z.output<typeof filtersSchema>;

const positionSchema = z.object({ account: z.string() });
