/**
 * Which transactions a list may show, where its filters look at what versions may differ in: those
 * of which some version has all that is wanted. Whether the version that is shown has it, the
 * caller sees.
 */
import { eachShard } from "../../clickhouse/cluster/shard-statements.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { skuSql } from "../reading/metric-filters.js";
import { type Query, allOf, atSql, tenantSql } from "../reading/query.js";
import {
  type TransactionPosition,
  type TransactionsWanted,
  columnConditions,
  ofProvider,
  pageConditions,
  pageParams,
  prewhere,
} from "./query.js";

/** A version that has what is wanted; rows of one transaction follow each other. */
export interface CandidateRow {
  /** ms since 1970, as text */
  readonly timestamp_ms: string;
  readonly id: string;
}

/** There is something to look at. */
export function hasCandidates(wanted: TransactionsWanted): boolean {
  return allOf(quickConditions(wanted), otherConditions(wanted)) !== "";
}

/**
 * Rows far apart are cheapest where the engine does not gather them into larger blocks first.
 *
 * @param rowsMax fewer rows mean the end of the list
 * @param isShort all of it is read anyhow: to keep an order meanwhile costs half as much again
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
    // A transaction and its ledger lie in one shard.
    sql: `SELECT timestamp_ms, id FROM ${eachShard(rows)}
ORDER BY timestamp_ms DESC, id DESC LIMIT {rows_max:UInt32}`,
    params: pageParams(asOf, wanted, after, rowsMax),
  };
}

/** Those that look at one column each. */
function quickConditions(wanted: TransactionsWanted): string {
  const { ids, skus, isPast } = wanted;
  return allOf(
    ids !== undefined && "id IN {ids:Array(String)}",
    ...columnConditions(isPast ? { ...wanted, status: undefined } : wanted),
    skus !== undefined && "external_id IN {external_ids:Array(String)}",
  );
}

function otherConditions({ skus, status, isPast }: TransactionsWanted): string {
  // What succeeded may have become anything later.
  const past = isPast && status !== undefined && status !== "succeeded" ? pastSql(status) : false;
  return allOf(skus !== undefined && `${skuSql} IN {skus:Array(String)}`, past);
}

function pastSql(status: "refunded" | "disputed"): string {
  const kind = status === "refunded" ? "refund" : "dispute";
  return `(status = {status:String} OR ${ledgerPaymentSql} IN (
    SELECT payment FROM ledger
    WHERE ${tenantSql} AND kind = '${kind}' AND happened_at <= ${atSql}))`;
}

/** How the ledger names the payment of a transaction; no provider token holds a colon. */
const ledgerPaymentSql = "concat(provider, ':', payment)";
