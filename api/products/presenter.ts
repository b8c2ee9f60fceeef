/** The JSON of a unified product (`spec.md` 2.2). */
import { providerToken } from "../../schemas/http/transactions.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import type { ProductFigures } from "./figures.js";
import { showMrr } from "../reading/amounts.js";
import type { Product, ProductThen, ProductsAnswer } from "./schema.js";

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
