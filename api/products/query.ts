/** Revenue, sales, MRR and active subscriptions by SKU. */
import type { AsOf } from "../reading/as-of.js";
import { ledgerCondition, ledgerPartsSql } from "../reading/ledger.js";
import { type Cell, skuSql } from "../reading/metric-filters.js";
import { sumMovementsSql, wholesOf } from "../reading/movements.js";
import { type Query, asOfParams, given, sumSettingsSql } from "../reading/query.js";

interface SkuRow {
  readonly provider: string;
  readonly external_id: string;
}

export interface SkuRevenueRow extends SkuRow {
  /** minor units of base currency */
  readonly amount: string;
  readonly sales: string;
}

const skuColumns = ["provider", "external_id"];

/** Sums of all time know no currency and no country; those of days do. */
const firstDayMs = 0;

/** @param since 00:00 of the period's first day, ms since 1970; null: from the beginning */
export function skuRevenueQuery(asOf: AsOf, since: number | null, cell: Cell): Query {
  const from = since ?? (cell.isOfSkus ? null : firstDayMs);
  const parts = ledgerPartsSql(asOf, {
    columnsOf: () => skuColumns,
    measures: ["amount", "sales"],
    condition: ledgerCondition(cell, asOf),
    accounts: cell.accounts,
    since: from === null ? "ever" : "day",
  });
  return {
    sql: `SELECT provider, external_id, sum(amount) AS amount, sum(sales) AS sales FROM ${parts}
GROUP BY provider, external_id ORDER BY provider, external_id ${sumSettingsSql}`,
    params: given({ ...asOfParams(asOf), ...cell.params, from }),
  };
}

export interface SkuSubscriptionsRow extends SkuRow {
  /** decimal text, base currency */
  readonly mrr: string;
  /** A subscription with items of two SKUs counts in both. */
  readonly subscriptions: string;
}

export function skuSubscriptionsQuery(asOf: AsOf, cell: Cell): Query {
  const measures = ["mrr", "subscriptions"] as const;
  const { condition } = cell;
  const sums = sumMovementsSql(skuColumns, wholesOf(cell), asOf, { condition, measures });
  return {
    sql: `${sums} ORDER BY provider, external_id ${sumSettingsSql}`,
    params: { ...asOfParams(asOf), ...cell.params },
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
  cell: Cell,
): Query {
  const product = `transform(${skuSql}, {skus:Array(String)}, {products:Array(String)}, '')`;
  const sums = sumMovementsSql(
    [`${product} AS product`, "account", "provider", "subscription"],
    "none",
    asOf,
    { condition: `${skuSql} IN {skus:Array(String)} AND ${cell.condition}`, measures: ["mrr"] },
  );
  return {
    sql: `SELECT product, count() AS subscriptions FROM (
${sums}
) WHERE mrr > 0 GROUP BY product ${sumSettingsSql}`,
    params: {
      ...asOfParams(asOf),
      ...cell.params,
      skus: skus.map(({ provider, externalId }) => `${provider}:${externalId}`),
      products: skus.map(({ product: id }) => id),
    },
  };
}
