/** Revenue and sales of a period by SKU: a sum over the ledger. */
import type { AsOf } from "../as-of.js";
import { type Query, asOfParams, atSql, knownAtSql, oneSnapshotSql, tenantSql } from "./query.js";

export interface SkuRevenueRow {
  readonly provider: string;
  readonly external_id: string;
  /** minor units of base currency */
  readonly revenue: string;
  readonly sales: string;
}

/**
 * Whole days from the projection by_day, the day of `at` from rows. The ledger is additive, so
 * what was recorded after `known_at` is subtracted: that is little, and it leaves the projection,
 * which knows no receipt times, in use.
 *
 * @param from 00:00 of the period's first day, ms since 1970; null: from the beginning
 */
export function skuRevenueQuery(asOf: AsOf, from: number | null): Query {
  const fromSql = "fromUnixTimestamp64Milli({from:Int64}, 'UTC')";
  const days = from === null ? "" : ` AND toDate(happened_at) >= toDate(${fromSql})`;
  const times = from === null ? "" : ` AND happened_at >= ${fromSql}`;
  const rows = `ledger WHERE ${tenantSql}`;
  const parts = [
    `${plus} FROM ${rows} AND toDate(happened_at) < toDate(${atSql})${days}`,
    `${plus} FROM ${rows} AND happened_at >= toStartOfDay(${atSql}) AND happened_at <= ${atSql}`,
  ];
  if (asOf.knownAt !== null) {
    const later = `recorded_at > ${knownAtSql} AND happened_at <= ${atSql}${times}`;
    parts.push(`${minus} FROM ${rows} AND ${later}`);
  }
  const union = parts.map((part) => `${part} GROUP BY provider, external_id`).join("\nUNION ALL\n");
  return {
    sql: `SELECT provider, external_id, sum(revenue) AS revenue, sum(sales) AS sales FROM (
${union}
) GROUP BY provider, external_id ORDER BY provider, external_id ${oneSnapshotSql}`,
    params: { ...asOfParams(asOf), ...(from === null ? {} : { from }) },
  };
}

const sku = "SELECT provider, external_id";
const plus = `${sku}, sum(amount) AS revenue, sum(sales) AS sales`;
const minus = `${sku}, -sum(amount) AS revenue, -sum(sales) AS sales`;
