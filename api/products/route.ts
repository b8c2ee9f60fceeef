/** `GET /v1/products`: unified products, in pages. */
import type { Service } from "../../runtime/service.js";
import { refusePages } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { periodStart } from "../reading/calendar.js";
import { type PinnedAsOf, openWalk } from "../reading/pages.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { type ReadApi, readRoute } from "../reading/routes.js";
import { type ProductFigures, hasRepeats, productFigures } from "./figures.js";
import { productPosition, productPositionOf, productsAfter } from "./order.js";
import { presentProduct, presentProductTotals } from "./presenter.js";
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
    const position = productPosition;
    const walk = openWalk({ ...asked, endpoint: path, parameters, clocks, cursors, position });
    const { asOf } = walk;
    const { period = "30d", category, sort = "-total_revenue" } = walk.query;
    const since = periodStart(period, asOf.at);
    const [revenues, subscriptions, catalogue] = await Promise.all([
      rowsOf<SkuRevenueRow>(service, skuRevenueQuery(asOf, since)),
      rowsOf<SkuSubscriptionsRow>(service, skuSubscriptionsQuery(asOf)),
      asked.catalogue(),
    ]);
    const wanted = productFigures(catalogue, revenues, subscriptions).filter(
      ({ product }) => category?.includes(product.category) ?? true,
    );
    // Only an order by subscriptions needs them counted of what is not shown.
    const isBySubscriptions = sort.endsWith("active_subscriptions");
    const sorted = isBySubscriptions ? await countedOnce(service, asOf, wanted) : wanted;
    const rest = productsAfter(walk.after, sorted, sort);
    const page = format === null ? rest.slice(0, walk.limit) : rest;
    const shown = isBySubscriptions ? page : await countedOnce(service, asOf, page);
    const data = shown.map((figures) => presentProduct(figures, access.baseCurrency));
    const last = rest.length > page.length ? shown.at(-1) : undefined;
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
      totals: presentProductTotals(wanted, access.baseCurrency),
      pagination: walk.pagination(last === undefined ? null : productPositionOf(last, sort)),
      complete_to: completeText(clocks),
    };
  });
}

/** Active subscriptions of each product counted once. */
async function countedOnce(
  service: Service,
  asOf: PinnedAsOf,
  figures: readonly ProductFigures[],
): Promise<readonly ProductFigures[]> {
  const repeated = figures.filter(hasRepeats);
  if (repeated.length === 0) return figures;
  const skus = repeated.flatMap((each) =>
    each.skus.map((sku) => ({ ...sku, product: each.product.id })),
  );
  const rows = await rowsOf<ProductSubscriptionsRow>(
    service,
    productSubscriptionsQuery(asOf, skus),
  );
  const counts = new Map(rows.map((row) => [row.product, Number(row.subscriptions)]));
  return figures.map((each) =>
    hasRepeats(each) ? { ...each, subscriptions: counts.get(each.product.id) ?? 0 } : each,
  );
}
