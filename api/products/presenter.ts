/** The JSON of a unified product (`spec.md` 2.2). */
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { type Product, product as shape } from "./schema.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import type { ProductFigures } from "./figures.js";
import { showMrr } from "../reading/amounts.js";

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
      provider: providerOf(sku.provider),
      external_id: sku.externalId,
      revenue: toJsonNumber(sku.revenue, exponent),
      sales_count: sku.sales,
    })),
  };
}

/** The tables hold one of few words; anything else is our own mistake. */
function providerOf(token: string): Product["providers"][number]["provider"] {
  return shape.shape.providers.element.shape.provider.parse(token);
}
