/** The JSON of a unified product (`spec.md` 2.2). */
import { providerToken } from "../../schemas/http/transactions.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import type { ProductFigures } from "./figures.js";
import { showMrr } from "../reading/amounts.js";
import type { Product } from "./schema.js";

/** @param subscriptions active ones, each counted once */
export function presentProduct(
  figures: ProductFigures,
  subscriptions: number,
  currency: string,
): Product {
  const exponent = knownExponentOf(currency);
  const { product } = figures;
  return {
    id: product.id,
    name: product.name,
    slug: product.slug,
    category: product.category,
    total_revenue: toJsonNumber(figures.revenue, exponent),
    total_sales: figures.sales,
    active_subscriptions: subscriptions,
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
