/** Sums of SKUs as sums of unified products, by today's catalogue. Pure. */
import type { Catalogue, CatalogueProduct, Sku } from "../../workspaces/catalogue/view.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import type { SkuRevenueRow, SkuSubscriptionsRow } from "./query.js";
import { providerToken } from "../../schemas/http/transactions.js";
import { knownExponentOf, toJsonNumber } from "../../schemas/money/money.js";
import { showMrr } from "../reading/amounts.js";
import type { Product, ProductsAnswer, ProductSort, ProductThen } from "./schema.js";
import { z } from "zod";

interface SkuFigures extends Sku {
  /** minor units of base currency, of the period */
  readonly revenue: bigint;
  readonly sales: number;
  /** millionths of base currency, as of now */
  readonly mrr: bigint;
  readonly subscriptions: number;
}

export interface ProductFigures {
  readonly product: CatalogueProduct;
  readonly skus: readonly SkuFigures[];
  readonly revenue: bigint;
  readonly sales: number;
  readonly mrr: bigint;
  /** A subscription with items of two SKUs of the product counts twice; see `hasRepeats`. */
  readonly subscriptions: number;
}

/**
 * Every product of the catalogue, even without sales, and figures of SKUs that the catalogue does
 * not have (yet). In no order.
 * @param providers whose SKUs are wanted; undefined: of all, and products without any SKU
 */
export function productFigures(
  catalogue: Catalogue,
  revenues: readonly SkuRevenueRow[],
  subscriptions: readonly SkuSubscriptionsRow[],
  providers?: readonly string[],
): ProductFigures[] {
  const skus = new Map<string, SkuFigures>();
  const add = (sku: Sku, more: Partial<Omit<SkuFigures, keyof Sku>>) => {
    const key = `${sku.provider}:${sku.externalId}`;
    skus.set(key, { ...nothing, ...skus.get(key), ...sku, ...more });
  };
  for (const sku of catalogue.products.flatMap((product) => product.skus)) {
    if (providers?.includes(sku.provider) ?? true) add(sku, {});
  }
  for (const row of revenues) {
    add(skuOf(row), { revenue: BigInt(row.amount), sales: Number(row.sales) });
  }
  for (const row of subscriptions) {
    add(skuOf(row), { mrr: mrrOf(row.mrr), subscriptions: Number(row.subscriptions) });
  }
  const all = groupByProduct(catalogue, [...skus.values()]);
  return providers === undefined ? all : all.filter((each) => each.skus.length > 0);
}

/** Whether it sold or sells anything in the wanted part. */
export function hasFigures({ skus }: ProductFigures): boolean {
  return !skus.every(isNothing);
}

/** Whether one subscription may be counted more than once. */
export function hasRepeats({ skus }: ProductFigures): boolean {
  const selling = skus.filter((sku) => sku.subscriptions > 0);
  return new Set(selling.map((sku) => sku.provider)).size < selling.length;
}

const nothing = { revenue: 0n, sales: 0, mrr: 0n, subscriptions: 0 };

function skuOf(row: { readonly provider: string; readonly external_id: string }): Sku {
  return { provider: row.provider, externalId: row.external_id };
}

function groupByProduct(catalogue: Catalogue, skus: readonly SkuFigures[]): ProductFigures[] {
  const groups = new Map<string, { product: CatalogueProduct; skus: SkuFigures[] }>(
    catalogue.products.map((product) => [product.id, { product, skus: [] }]),
  );
  for (const sku of skus) {
    // What was moved away by differences leaves sums of nothing; that is no SKU.
    if (sku.externalId === "" && isNothing(sku)) continue;
    const product = catalogue.productOf(sku);
    const group = groups.get(product.id) ?? { product, skus: [] };
    group.skus.push(sku);
    groups.set(product.id, group);
  }
  return [...groups.values()].map(totalled);
}

function isNothing(sku: SkuFigures): boolean {
  return sku.revenue === 0n && sku.sales === 0 && sku.mrr === 0n && sku.subscriptions === 0;
}

function totalled(group: { product: CatalogueProduct; skus: readonly SkuFigures[] }) {
  const total = { ...nothing };
  for (const sku of group.skus) {
    total.revenue += sku.revenue;
    total.sales += sku.sales;
    total.mrr += sku.mrr;
    total.subscriptions += sku.subscriptions;
  }
  return { ...group, ...total };
}

/** @param figures with each active subscription counted once */
export function presentProduct(figures: ProductFigures, currency: string): Product {
  const exponent = knownExponentOf(currency);
  const { product } = figures;
  return {
    id: product.id,
    name: product.name,
    slug: product.slug,
    category: product.category,
    total_revenue: toJsonNumber(figures.revenue, exponent),
    total_sales: figures.sales,
    active_subscriptions: figures.subscriptions,
    mrr: showMrr(figures.mrr, currency),
    currency,
    providers: figures.skus.map((sku) => ({
      provider: providerToken.parse(sku.provider),
      external_id: sku.externalId,
      revenue: toJsonNumber(sku.revenue, exponent),
      sales_count: sku.sales,
    })),
  };
}

/**
 * Figures of the time compared with.
 * @param figures as those of `presentProduct`
 */
export function presentThen(figures: ProductFigures, currency: string): ProductThen {
  return {
    total_revenue: toJsonNumber(figures.revenue, knownExponentOf(currency)),
    total_sales: figures.sales,
    active_subscriptions: figures.subscriptions,
    mrr: showMrr(figures.mrr, currency),
  };
}

export function presentProductTotals(
  figures: readonly ProductFigures[],
  currency: string,
): ProductsAnswer["totals"] {
  const revenue = figures.reduce((sum, each) => sum + each.revenue, 0n);
  const mrr = figures.reduce((sum, each) => sum + each.mrr, 0n);
  return {
    total_revenue: toJsonNumber(revenue, knownExponentOf(currency)),
    total_sales: figures.reduce((sum, each) => sum + each.sales, 0),
    mrr: showMrr(mrr, currency),
  };
}

/** Where a page ended; of equal keys products follow by their id. */
export const productPosition = z.object({
  /** Digits of an amount or a count, or a name. */
  key: z.string(),
  id: z.string(),
});
type ProductPosition = z.output<typeof productPosition>;

export function productPositionOf(figures: ProductFigures, sort: ProductSort): ProductPosition {
  return { key: keyOf(figures, sort), id: figures.product.id };
}

/**
 * People may merge and rename between two pages; what moved up in the list is not shown again.
 * @returns those after `last`, in order
 */
export function productsAfter(
  last: ProductPosition | null,
  figures: readonly ProductFigures[],
  sort: ProductSort,
): ProductFigures[] {
  return figures
    .map((each) => ({ each, place: productPositionOf(each, sort) }))
    .filter(({ place }) => last === null || compare(last, place, sort) < 0)
    .sort((one, other) => compare(one.place, other.place, sort))
    .map(({ each }) => each);
}

function keyOf(figures: ProductFigures, sort: ProductSort): string {
  const keys = {
    total_revenue: () => figures.revenue.toString(),
    mrr: () => figures.mrr.toString(),
    active_subscriptions: () => String(figures.subscriptions),
    name: () => figures.product.name,
  };
  return keys[columnOf(sort)]();
}

function compare(one: ProductPosition, other: ProductPosition, sort: ProductSort): number {
  const order = columnOf(sort) === "name" ? byName(one.key, other.key) : bySize(one.key, other.key);
  if (order !== 0) return sort.startsWith("-") ? -order : order;
  return one.id === other.id ? 0 : one.id < other.id ? -1 : 1;
}

function columnOf(sort: ProductSort) {
  switch (sort) {
    case "-total_revenue":
    case "total_revenue":
      return "total_revenue";
    case "-mrr":
    case "mrr":
      return "mrr";
    case "-active_subscriptions":
    case "active_subscriptions":
      return "active_subscriptions";
    case "-name":
    case "name":
      return "name";
    default:
      return sort satisfies never;
  }
}

const { compare: byName } = new Intl.Collator("en", { numeric: true });

function bySize(one: string, other: string): number {
  const difference = BigInt(one) - BigInt(other);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}
