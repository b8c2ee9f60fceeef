/** Sums of SKUs as sums of unified products, by today's catalogue. Pure. */
import type { Catalogue, CatalogueProduct, Sku } from "../../workspaces/catalogue/view.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import type { SkuRevenueRow, SkuSubscriptionsRow } from "./query.js";

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
