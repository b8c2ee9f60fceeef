/**
 * Which transactions a list may show, where its filters look at what versions may differ in: those
 * with some version that passes. The caller checks whether the shown version does.
 */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import { isAcrossShards } from "../reading/accounts.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { inSql, skuSql } from "../reading/metric-filters.js";
import { type Query, allOf, atSql, momentSql, tenantSql } from "../reading/query.js";
import {
  type TransactionPosition,
  type TransactionsWanted,
  columnConditions,
  ofProvider,
  pageConditions,
  pageParams,
  prewhere,
} from "./query.js";
import type { TransactionOrder } from "./schema.js";

/** A version that passes; rows of one transaction follow each other. */
export interface CandidateRow {
  /** ms since 1970, as text */
  readonly timestamp_ms: string;
  readonly id: string;
}

export function hasCandidates(wanted: TransactionsWanted): boolean {
  return allOf(quickConditions(wanted), otherConditions(wanted)) !== "";
}

/**
 * Rows far apart are cheapest where the engine does not gather them into larger blocks first.
 * @param rowsMax fewer rows mean the end of the list
 * @param isShort all of it is read anyway, and keeping an order would cost half as much again
 */
export function candidatesQuery(
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
  after: TransactionPosition | null,
  rowsMax: number,
  isShort: boolean,
): Query {
  const rows = `SELECT toUnixTimestamp64Milli(timestamp) AS timestamp_ms, id
FROM transactions ${prewhere(ofProvider(wanted), quickConditions(wanted))}
WHERE ${allOf(pageConditions(wanted, after), otherConditions(wanted))}
ORDER BY timestamp DESC, id DESC LIMIT {rows_max:UInt32}
SETTINGS ${isShort ? "optimize_read_in_order" : "read_in_order_use_buffering"} = 0`;
  return {
    sql: `SELECT timestamp_ms, id FROM ${shardsSql(rows, wanted)}
ORDER BY timestamp_ms DESC, id DESC LIMIT {rows_max:UInt32}`,
    params: pageParams(asOf, wanted, after, rowsMax),
  };
}

/** A version that passes, in an order by a column. */
export interface OrderedRow extends CandidateRow {
  /** What it is ordered by: ms since 1970, or minor units of base currency; as text. */
  readonly key: string;
}

/** Where a page of an order ended; of equal keys transactions follow by their id. */
export type OrderPosition = Pick<OrderedRow, "key" | "id">;

/**
 * The same in another order than the table's: of an amount all of that time are read, but few
 * columns.
 */
export function orderedCandidatesQuery(
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
  sort: TransactionOrder,
  after: OrderPosition | null,
  rowsMax: number,
): Query {
  const [column, keySql, afterSql] =
    sort === "timestamp"
      ? ["timestamp", "toUnixTimestamp64Milli(timestamp)", momentSql("after_key")]
      : ["normalized_amount", "normalized_amount", "{after_key:Int64}"];
  const isFalling = sort.startsWith("-");
  const beyond =
    `${column} ${isFalling ? "<=" : ">="} ${afterSql} AND ` +
    `(${column} != ${afterSql} OR id > {after_id:String})`;
  const rows = `SELECT toUnixTimestamp64Milli(timestamp) AS timestamp_ms, id, ${keySql} AS key
FROM transactions ${prewhere(ofProvider(wanted), quickConditions(wanted))}
WHERE ${allOf(pageConditions(wanted, null), otherConditions(wanted), after !== null && beyond)}
ORDER BY ${column} ${isFalling ? "DESC" : "ASC"}, id LIMIT {rows_max:UInt32}`;
  return {
    sql: `SELECT timestamp_ms, id, key FROM ${shardsSql(rows, wanted)}
ORDER BY toInt64(key) ${isFalling ? "DESC" : "ASC"}, id LIMIT {rows_max:UInt32}`,
    params: {
      ...pageParams(asOf, wanted, null, rowsMax),
      ...(after === null ? {} : { after_key: after.key, after_id: after.id }),
    },
  };
}

/** A transaction and its ledger lie in one shard, its account's movements in any. */
function shardsSql(rows: string, { accounts }: TransactionsWanted): string {
  return isAcrossShards(accounts) ? `(${rows})` : eachShard(rows);
}

function quickConditions(wanted: TransactionsWanted): string {
  const { ids, skus, isPast } = wanted;
  return allOf(
    ids !== undefined && "id IN {ids:Array(String)}",
    ...columnConditions(isPast ? { ...wanted, status: undefined } : wanted),
    // Another provider may have the same id.
    skus?.isNot === false && "external_id IN {external_ids:Array(String)}",
  );
}

function otherConditions({ skus, status, isPast }: TransactionsWanted): string {
  const past = isPast && status !== undefined ? pastSql(status) : false;
  return allOf(skus !== undefined && `${skuSql} ${inSql(skus)} {skus:Array(String)}`, past);
}

function pastSql(statuses: NonNullable<TransactionsWanted["status"]>): string | false {
  // What succeeded may have become anything later.
  if (statuses.includes("succeeded")) return false;
  const kinds = statuses.map((status) => (status === "refunded" ? "'refund'" : "'dispute'"));
  if (kinds.length === 0) return "false";
  return `(status IN {status:Array(String)} OR ${ledgerPaymentSql} GLOBAL IN (
    SELECT payment FROM ledger
    WHERE ${tenantSql} AND kind IN (${kinds.join(", ")}) AND happened_at <= ${atSql}))`;
}

/** The ledger's name of a transaction's payment; no provider token holds a colon. */
const ledgerPaymentSql = "concat(provider, ':', payment)";
