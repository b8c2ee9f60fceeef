/** `GET /v1/products`: unified products, in pages. */
import type { Service } from "../../service.js";
import { refusePages } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { comparedTable, withCompared } from "../exports/tables.js";
import { type Cell, cellOf } from "../reading/metric-filters.js";
import { openWalk, type PinnedAsOf } from "../reading/pages.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { readRoute } from "../reading/routes.js";
import { checkComparison } from "../summary/period.js";
import {
  hasFigures,
  hasRepeats,
  presentProduct,
  presentProductTotals,
  presentThen,
  type ProductFigures,
  productFigures,
  productPosition,
  productPositionOf,
  productsAfter,
} from "./figures.js";
import {
  productSubscriptionsQuery,
  type ProductSubscriptionsRow,
  skuRevenueQuery,
  type SkuRevenueRow,
  skuSubscriptionsQuery,
  type SkuSubscriptionsRow,
} from "./query.js";
import {
  type Period,
  type Product,
  productsAnswer,
  productsQueryParameters as parameters,
} from "./schema.js";
import type { AsOf } from "../reading/as-of.js";
import { dayMs, monthsBefore, periodStart } from "../reading/calendar.js";
import type { SummaryCompare } from "../summary/schema.js";

const path = "/v1/products";

export const productsRoute = readRoute(
  {
    path,
    summary: "Unified products",
    query: parameters,
    answer: productsAnswer,
  },
  async (asked) => {
    const { service, ctx, access, format } = asked;
    const { cursors } = asked.api;
    if (format !== null) refusePages(asked.query);
    const clocks = await clocksOf(service, access);
    const position = productPosition;
    const walk = openWalk({ ...asked, endpoint: path, parameters, clocks, cursors, position });
    const { asOf } = walk;
    const { period = "30d", category, sort = "-total_revenue" } = walk.query;
    const { compare, compare_known_at: knownAt = null } = walk.query;
    checkComparison(walk.query, clocks);
    const catalogue = await asked.catalogue();
    const part = await asked.narrowed(walk.query);
    const { provider, product: only } = part;
    const cell = cellOf(part, catalogue);
    const read = async (time: ProductsTime) => {
      const [revenues, subscriptions] = await Promise.all([
        rowsOf<SkuRevenueRow>(service, skuRevenueQuery(time.asOf, time.since, cell)),
        rowsOf<SkuSubscriptionsRow>(service, skuSubscriptionsQuery(time.asOf, cell)),
      ]);
      return productFigures(catalogue, revenues, subscriptions, provider).filter(
        ({ product }) =>
          (category?.includes(product.category) ?? true) &&
          (only === undefined || only.values.includes(product.id) !== only.isNot),
      );
    };
    const time = timeOf(period, asOf);
    const other = compare === undefined ? null : comparedTime(period, asOf, compare, knownAt);
    const [all, then] = await Promise.all([read(time), other && read(other)]);
    // All of the other time are kept: what sold nothing then is compared with 0.
    const wanted = cell.isOfSkus ? all : all.filter(hasFigures);
    // Only an order by subscriptions needs counts of products that are not shown.
    const isBySubscriptions = sort.endsWith("active_subscriptions");
    const sorted = isBySubscriptions ? await countedOnce(service, asOf, wanted, cell) : wanted;
    const rest = productsAfter(walk.after, sorted, sort);
    const page = format === null ? rest.slice(0, walk.limit) : rest;
    const shown = isBySubscriptions ? page : await countedOnce(service, asOf, page, cell);
    const products = shown.map((figures) => presentProduct(figures, access.baseCurrency));
    const last = rest.length > page.length ? shown.at(-1) : undefined;
    const currency = access.baseCurrency;
    const ids = new Set(products.map(({ id }) => id));
    const beside = other && {
      time: other,
      all: then ?? [],
      shown: await countedOnce(
        service,
        other.asOf,
        (then ?? []).filter(({ product }) => ids.has(product.id)),
        cell,
      ),
    };
    if (format !== null) {
      const compared = beside?.shown.map((figures) => presentProduct(figures, currency)) ?? null;
      const rows = withCompared(products, compare && compared);
      sendTable(ctx, format, comparedTable("products", compare !== undefined), rows, clocks);
      return null;
    }
    return {
      period: { name: period, ...presentTime(time) },
      ...(compare === undefined ? { data: products } : besideThose(products, beside, currency)),
      totals: presentProductTotals(wanted, currency),
      pagination: walk.pagination(last === undefined ? null : productPositionOf(last, sort)),
      complete_to: completeText(clocks),
    };
  },
);

/** Active subscriptions of each product counted once. */
async function countedOnce(
  service: Service,
  asOf: PinnedAsOf,
  figures: readonly ProductFigures[],
  cell: Cell,
): Promise<readonly ProductFigures[]> {
  const repeated = figures.filter(hasRepeats);
  if (repeated.length === 0) return figures;
  const skus = repeated.flatMap((each) =>
    each.skus.map((sku) => ({ ...sku, product: each.product.id })),
  );
  const query = productSubscriptionsQuery(asOf, skus, cell);
  const rows = await rowsOf<ProductSubscriptionsRow>(service, query);
  const counts = new Map(rows.map((row) => [row.product, Number(row.subscriptions)]));
  return figures.map((each) =>
    hasRepeats(each) ? { ...each, subscriptions: counts.get(each.product.id) ?? 0 } : each,
  );
}

interface Beside {
  readonly time: ProductsTime;
  readonly all: readonly ProductFigures[];
  readonly shown: readonly ProductFigures[];
}

/** Products with their figures of another time, and the totals of all. */
function besideThose(products: readonly Product[], beside: Beside | null, currency: string) {
  if (beside === null) {
    return { data: products.map((each) => ({ ...each, compare: null })), compare: null };
  }
  const { time, all, shown } = beside;
  const byId = new Map(shown.map((each) => [each.product.id, each]));
  return {
    data: products.map((each) => {
      const figures = byId.get(each.id);
      return { ...each, compare: figures ? presentThen(figures, currency) : null };
    }),
    compare: { ...presentTime(time), totals: presentProductTotals(all, currency) },
  };
}

function presentTime({ since, asOf }: ProductsTime) {
  return {
    since: since === null ? null : new Date(since).toISOString(),
    until: new Date(asOf.at).toISOString(),
  };
}

interface ProductsTime {
  readonly asOf: PinnedAsOf;
  /** 00:00 of the first day, ms since 1970; null: from the beginning */
  readonly since: number | null;
}

function timeOf(period: Period, asOf: PinnedAsOf): ProductsTime {
  return { asOf, since: periodStart(period, asOf.at) };
}

/**
 * As far into its last day as the period itself.
 * @returns null where there is none before it: all time, and before 1970
 */
function comparedTime(
  period: Period,
  asOf: PinnedAsOf,
  compare: SummaryCompare,
  knownAt: number | null,
): ProductsTime | null {
  if (compare === "known_then") {
    return knownAt === null ? null : timeOf(period, { ...asOf, knownAt });
  }
  const at = compare === "previous_year" ? monthsBefore(asOf.at, 12) : periodBefore(period, asOf);
  return at === null || at < 0 ? null : timeOf(period, { ...asOf, at });
}

function periodBefore(period: Period, { at }: Pick<AsOf, "at">): number | null {
  switch (period) {
    case "today":
      return at - dayMs;
    case "7d":
      return at - 7 * dayMs;
    case "30d":
      return at - 30 * dayMs;
    case "3m":
      return monthsBefore(at, 3);
    case "12m":
      return monthsBefore(at, 12);
    case "lifetime":
      return null;
    default:
      return period satisfies never;
  }
}
