/** `GET /v1/products`: unified products by revenue, in pages. */
import { z } from "zod";
import type { Service } from "../../runtime/service.js";
import { refusePages } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { periodStart } from "../reading/calendar.js";
import { type PinnedAsOf, openWalk } from "../reading/pages.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { type ReadApi, readRoute } from "../reading/routes.js";
import { type ProductFigures, byRevenueThenId, hasRepeats, productFigures } from "./figures.js";
import { presentProduct } from "./presenter.js";
import {
  type ProductSubscriptionsRow,
  type SkuRevenueRow,
  type SkuSubscriptionsRow,
  productSubscriptionsQuery,
  skuRevenueQuery,
  skuSubscriptionsQuery,
} from "./query.js";
import { productsQueryParameters as parameters } from "./schema.js";

export function productsRoute(api: ReadApi): void {
  const { service, cursors } = api;
  const path = "/v1/products";
  readRoute(api, path, parameters, async (asked) => {
    const { ctx, access, format } = asked;
    if (format !== null) refusePages(asked.query);
    const clocks = await clocksOf(service, access);
    const walk = openWalk({ ...asked, endpoint: path, parameters, clocks, cursors, position });
    const { asOf } = walk;
    const { period = "30d", category } = walk.query;
    const since = periodStart(period, asOf.at);
    const [revenues, subscriptions, catalogue] = await Promise.all([
      rowsOf<SkuRevenueRow>(service, skuRevenueQuery(asOf, since)),
      rowsOf<SkuSubscriptionsRow>(service, skuSubscriptionsQuery(asOf)),
      asked.catalogue(),
    ]);
    const wanted = productFigures(catalogue, revenues, subscriptions).filter(
      ({ product }) => category === undefined || product.category === category,
    );
    const rest = after(walk.after, wanted);
    const page = format === null ? rest.slice(0, walk.limit) : rest;
    const exact = await subscriptionsOnce(service, asOf, page.filter(hasRepeats));
    const data = page.map((figures) =>
      presentProduct(
        figures,
        exact.get(figures.product.id) ?? figures.subscriptions,
        access.baseCurrency,
      ),
    );
    if (format !== null) {
      sendTable(ctx, format, tables.products, data, clocks);
      return null;
    }
    return {
      period: {
        name: period,
        since: since === null ? null : new Date(since).toISOString(),
        until: new Date(asOf.at).toISOString(),
      },
      data,
      pagination: walk.pagination(rest.length > page.length ? positionOf(page.at(-1)) : null),
      complete_to: completeText(clocks),
    };
  });
}

const position = z.object({
  /** minor units */
  revenue: z.string().regex(/^-?\d+$/),
  id: z.string(),
});
type Position = z.output<typeof position>;

function positionOf(figures: ProductFigures | undefined): Position | null {
  if (figures === undefined) return null;
  return { revenue: figures.revenue.toString(), id: figures.product.id };
}

/** People may merge and rename between two pages; what moved up in the list is not shown again. */
function after(last: Position | null, figures: readonly ProductFigures[]): ProductFigures[] {
  if (last === null) return [...figures];
  const place = { revenue: BigInt(last.revenue), product: { id: last.id } };
  return figures.filter((each) => byRevenueThenId(place, each) < 0);
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
  const rows = await rowsOf<ProductSubscriptionsRow>(
    service,
    productSubscriptionsQuery(asOf, skus),
  );
  const counts = new Map(rows.map((row) => [row.product, Number(row.subscriptions)]));
  return new Map(figures.map(({ product }) => [product.id, counts.get(product.id) ?? 0]));
}
