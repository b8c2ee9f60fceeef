/** How many transactions a list has: the version that counts of each is chosen, then filtered. */
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, atSql, tenantSql } from "../reading/query.js";
import { type TransactionsWanted, filterParams, momentSql, recordedSql, skuSql } from "./query.js";

export interface TransactionCountRow {
  readonly transactions: string;
}

/** @param wanted no status as of a past moment: the table does not have it */
export function transactionCountQuery(asOf: PinnedAsOf, wanted: TransactionsWanted): Query {
  const rows = [
    tenantSql,
    `timestamp <= ${atSql}`,
    recordedSql,
    ...(wanted.from === undefined ? [] : [`timestamp >= ${momentSql("from")}`]),
    ...(wanted.to === undefined ? [] : [`timestamp < ${momentSql("to")}`]),
    // All versions have the same one.
    ...(wanted.provider === undefined ? [] : ["provider = {provider:String}"]),
    ...(wanted.ids === undefined ? [] : ["id IN {ids:Array(String)}"]),
  ];
  const chosen = [
    ...(wanted.type === undefined ? [] : [`${lastSql("type")} = {type:String}`]),
    ...(wanted.currency === undefined
      ? []
      : [`${lastSql("original_currency")} = {currency:String}`]),
    ...(wanted.country === undefined ? [] : [`${lastSql("customer_country")} = {country:String}`]),
    ...(wanted.account === undefined ? [] : [`${lastSql("account")} = {account:String}`]),
    ...(wanted.status === undefined ? [] : [`${lastSql("status")} = {status:String}`]),
    ...(wanted.skus === undefined ? [] : [`${lastSql(skuSql)} IN {skus:Array(String)}`]),
  ];
  return {
    sql: `SELECT count() AS transactions FROM (
  SELECT id FROM transactions WHERE ${rows.join(" AND ")}
  GROUP BY timestamp, id ${chosen.length === 0 ? "" : `HAVING ${chosen.join(" AND ")}`}
) SETTINGS optimize_aggregation_in_order = 1`,
    params: { ...asOfParams(asOf), ...filterParams(wanted) },
  };
}

/** Of the version the lists choose (`transactions.ts`). */
function lastSql(column: string): string {
  return `argMax(${column}, (recorded_at, fact_id, version))`;
}
