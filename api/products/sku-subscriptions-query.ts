/** MRR and active subscriptions by SKU. */
import type { AsOf } from "../reading/as-of.js";
import { sumMovementsSql } from "../reading/movements.js";
import { type Query, asOfParams, sumSettingsSql } from "../reading/query.js";

export interface SkuSubscriptionsRow {
  readonly provider: string;
  readonly external_id: string;
  /** decimal text, base currency */
  readonly mrr: string;
  /** A subscription with items of two SKUs counts in both. */
  readonly subscriptions: string;
}

export function skuSubscriptionsQuery(asOf: AsOf): Query {
  const columns = ["provider", "external_id"];
  const sums = sumMovementsSql(columns, "by_month_and_sku", asOf, {
    measures: ["mrr", "subscriptions"],
  });
  return {
    sql: `${sums} ORDER BY provider, external_id ${sumSettingsSql}`,
    params: asOfParams(asOf),
  };
}

export interface ProductSubscriptionsRow {
  readonly product: string;
  readonly subscriptions: string;
}

/**
 * Active subscriptions of products with several SKUs of one provider, each counted once. Reads
 * every movement of those SKUs, so it is asked only for the products that need it.
 */
export function productSubscriptionsQuery(
  asOf: AsOf,
  skus: readonly {
    readonly provider: string;
    readonly externalId: string;
    readonly product: string;
  }[],
): Query {
  const product = `transform(${sku}, {skus:Array(String)}, {products:Array(String)}, '')`;
  const sums = sumMovementsSql(
    [`${product} AS product`, "account", "provider", "subscription"],
    "none",
    asOf,
    { condition: `${sku} IN {skus:Array(String)}`, measures: ["mrr"] },
  );
  return {
    sql: `SELECT product, count() AS subscriptions FROM (
${sums}
) WHERE mrr > 0 GROUP BY product ${sumSettingsSql}`,
    params: {
      ...asOfParams(asOf),
      skus: skus.map(({ provider, externalId }) => `${provider}:${externalId}`),
      products: skus.map(({ product: id }) => id),
    },
  };
}

/** No provider token holds a colon, so the text is unambiguous. */
const sku = "concat(provider, ':', external_id)";
