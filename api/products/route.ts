/** `GET /v1/products`: unified products by revenue, in pages. */
import type Router from "@koa/router";
import { z } from "zod";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { type ProductsAnswer, periods, productsQueryParameters } from "./schema.js";
import { categories } from "../../schemas/products.js";
import { periodStart } from "../reading/calendar.js";
import type { Cursors } from "../reading/cursors.js";
import { formatOf, refusePages } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { readMovements } from "../reading/movement-reading.js";
import { type PinnedAsOf, openWalk } from "../reading/pages.js";
import { presentProduct } from "./presenter.js";
import { type ProductFigures, byRevenueThenId, hasRepeats, productFigures } from "./figures.js";
import { type SkuRevenueRow, skuRevenueQuery } from "./sku-revenue-query.js";
import {
  type ProductSubscriptionsRow,
  type SkuSubscriptionsRow,
  productSubscriptionsQuery,
  skuSubscriptionsQuery,
} from "./sku-subscriptions-query.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";

export function productsRoute(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
): void {
  router.get("/v1/products", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access);
    const query = readQuery(ctx, productsQueryParameters);
    const format = formatOf(ctx, query.format);
    if (format !== null) refusePages(query);
    const walk = openWalk({
      endpoint: "products",
      access,
      query,
      filters: { period: query.period, category: query.category },
      clocks,
      cursors,
      filtersSchema,
      positionSchema,
    });
    const { period = "30d", category } = walk.filters;
    const since = periodStart(period, walk.asOf.at);
    const [revenues, subscriptions, catalogue] = await Promise.all([
      rowsOf<SkuRevenueRow>(service, skuRevenueQuery(walk.asOf, since)),
      readMovements<SkuSubscriptionsRow>(service.clickhouse, skuSubscriptionsQuery, walk.asOf),
      catalogues.of(access.workspace, access.environment),
    ]);
    const wanted = productFigures(catalogue, revenues, subscriptions).filter(
      ({ product }) => category === undefined || product.category === category,
    );
    const rest = after(walk.after, wanted);
    const page = format === null ? rest.slice(0, walk.limit) : rest;
    const exact = await subscriptionsOnce(service, walk.asOf, page.filter(hasRepeats));
    const data = page.map((figures) =>
      presentProduct(
        figures,
        exact.get(figures.product.id) ?? figures.subscriptions,
        access.baseCurrency,
      ),
    );
    if (format !== null) return sendTable(ctx, format, tables.products, data, clocks);
    ctx.body = {
      status: "success",
      period: {
        name: period,
        since: since === null ? null : new Date(since).toISOString(),
        until: new Date(walk.asOf.at).toISOString(),
      },
      data,
      pagination: walk.pagination(rest.length > page.length ? positionOf(page.at(-1)) : null),
      complete_to: completeText(clocks),
    } satisfies ProductsAnswer;
  });
}

const filtersSchema = z.object({
  period: z.enum(periods).optional(),
  category: z.enum(categories).optional(),
});

const positionSchema = z.object({
  /** minor units */
  revenue: z.string().regex(/^-?\d+$/),
  id: z.string(),
});
type Position = z.output<typeof positionSchema>;

function positionOf(figures: ProductFigures | undefined): Position | null {
  if (figures === undefined) return null;
  return { revenue: figures.revenue.toString(), id: figures.product.id };
}

/** People may merge and rename between two pages; what moved up in the list is not shown again. */
function after(position: Position | null, figures: readonly ProductFigures[]): ProductFigures[] {
  if (position === null) return [...figures];
  const last = { revenue: BigInt(position.revenue), product: { id: position.id } };
  return figures.filter((each) => byRevenueThenId(last, each) < 0);
}

/** Active subscriptions by product, each counted once. */
async function subscriptionsOnce(
  service: Service,
  asOf: PinnedAsOf,
  figures: readonly ProductFigures[],
): Promise<ReadonlyMap<string, number>> {
  if (figures.length === 0) return new Map();
  const skus = figures.flatMap((each) =>
    each.skus.map((sku) => ({ ...sku, product: each.product.id })),
  );
  const rows = await readMovements<ProductSubscriptionsRow>(
    service.clickhouse,
    (reading) => productSubscriptionsQuery(reading, skus),
    asOf,
  );
  const counts = new Map(rows.map((row) => [row.product, Number(row.subscriptions)]));
  return new Map(figures.map(({ product }) => [product.id, counts.get(product.id) ?? 0]));
}
