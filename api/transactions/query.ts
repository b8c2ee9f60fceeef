import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { type AccountsPart, accountsParams, accountsSql } from "../reading/accounts.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { inSql, skuSql } from "../reading/metric-filters.js";
import {
  type Query,
  allOf,
  asOfParams,
  atSql,
  fromSql,
  given,
  knownAtSql,
  momentSql,
  tenantSql,
} from "../reading/query.js";
import type { SegmentRef } from "../../schemas/http/series.js";
import type { Several } from "../../schemas/http/several.js";
import { listedColumns, type TransactionRow } from "./listed-row.js";
import type { TransactionsQuery } from "./schema.js";

export interface TransactionPosition {
  /** ms since 1970 */
  readonly timestamp: number;
  readonly id: string;
}

/** All that are given must hold for the shown version; `to` is exclusive. */
export interface TransactionsWanted extends Pick<TransactionsQuery, WantedName> {
  readonly ids?: readonly string[] | undefined;
  /** Each as `provider:external_id`. */
  readonly skus?: Several | undefined;
  /** Of these accounts only, those of `segment`. */
  readonly accounts?: AccountsPart | undefined;
  readonly segment?: SegmentRef | undefined;
  /** The status is wanted as of `at`, not as of now: any version may have another one. */
  readonly isPast: boolean;
}
type WantedName = "provider" | "from" | "to" | (typeof columnFilters)[number][0];

/**
 * Of a list whose filters no versions differ in. Rows of one id lie together, and the first of them
 * is the version known at `known_at`. The caller chooses it: `LIMIT 1 BY` would make the engine
 * sort half the table (312 ms against 18 ms of 3 million rows).
 * @param rowsMax fewer rows mean the end of the list
 */
export function transactionsQuery(
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
  after: TransactionPosition | null,
  rowsMax: number,
): Query {
  return {
    sql: `SELECT ${columnsSql(wanted)} FROM transactions ${prewhere(ofProvider(wanted))}
WHERE ${pageConditions(wanted, after)}
ORDER BY ${newestFirst} LIMIT {rows_max:UInt32} ${threadsSql(wanted)}`,
    params: pageParams(asOf, wanted, after, rowsMax),
  };
}

/**
 * All known versions of some transactions, of each the one that counts first. They are few and lie
 * anywhere: reading them in the order of the table, or using its skip indexes, would cost as much
 * again. A transaction keeps its timestamp, so times and ids need no pairing, and times alone rule
 * out parts of the table before ids are read.
 */
export function versionsQuery(
  asOf: PinnedAsOf,
  wanted: Pick<TransactionsWanted, "accounts">,
  transactions: readonly TransactionPosition[],
): Query {
  return {
    sql: `SELECT ${columnsSql(wanted)} FROM transactions
PREWHERE timestamp IN {timestamps:Array(DateTime64(3, 'UTC'))}
WHERE ${knownSql} AND id IN {ids:Array(String)} ORDER BY ${newestFirst}
SETTINGS optimize_read_in_order = 0, use_skip_indexes = 0`,
    params: {
      ...asOfParams(asOf),
      ...accountsParams(wanted.accounts),
      timestamps: transactions.map(({ timestamp }) => clickhouseTime(timestamp)),
      ids: transactions.map(({ id }) => id),
    },
  };
}

function columnsSql({ accounts }: Pick<TransactionsWanted, "accounts">): string {
  if (accounts === undefined) return listedColumns;
  return `${listedColumns}, ${accountsSql(accounts)} AS is_listed`;
}

/** The conditions of a page on what versions do not differ in. */
export function pageConditions(
  { from, to }: TransactionsWanted,
  after: TransactionPosition | null,
): string {
  const afterSql = momentSql("after");
  return allOf(
    knownSql,
    from !== undefined && `timestamp >= ${fromSql}`,
    to !== undefined && `timestamp < ${momentSql("to")}`,
    // The tuple alone would not use the primary key.
    after !== null &&
      `timestamp <= ${afterSql} AND (timestamp, id) < (${afterSql}, {after_id:String})`,
  );
}

export function pageParams(
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
  after: TransactionPosition | null,
  rowsMax: number,
): Query["params"] {
  const { from, to, ids, account, accounts, skus } = wanted;
  const several = severalFilters.map((name) => {
    const value = wanted[name];
    return [name, value && severalIn(value).values] as const;
  });
  return given({
    ...Object.fromEntries(several),
    ...asOfParams(asOf),
    ...accountsParams(accounts),
    from,
    to,
    ids,
    account,
    skus: skus?.values,
    external_ids: skus?.values.map((sku) => sku.slice(sku.indexOf(":") + 1)),
    rows_max: rowsMax,
    after: after?.timestamp,
    after_id: after?.id,
  });
}

/**
 * Reading in order ends with the last wanted row, before a second thread is of use. Rows of one
 * provider may lie behind all others.
 */
function threadsSql({ provider }: TransactionsWanted): string {
  return provider === undefined ? "SETTINGS max_threads = 1" : "";
}

/** All versions have the same one. */
export function ofProvider({ provider }: TransactionsWanted): string | false {
  return provider !== undefined && "provider IN {provider:Array(String)}";
}

/**
 * `identity` keeps the engine from comparing the receipt with each mark of the primary key, where
 * it comes too late to help: of 8 million rows, 16 of a page's 27 ms.
 */
export const recordedSql = `identity(recorded_at) <= ${knownAtSql}`;
const knownSql = allOf(tenantSql, `timestamp <= ${atSql}`, recordedSql);

export const transactionColumns = `toUnixTimestamp64Milli(timestamp) AS timestamp_ms, id, version,
  provider, payment, external_id, gross_amount, original_currency, normalized_amount,
  base_currency, fx_rate, fx_date, refunded_amount, tax_amount, fee_amount, customer_country,
  type, status, account`;

/** The table's own order backwards, so that reading stops with the last wanted row. */
const newestFirst = "timestamp DESC, id DESC, recorded_at DESC, fact_id DESC, version DESC";

/**
 * Explicit, because by itself the engine reads times and ids of all rows before a column that few
 * rows pass: 400 ms of 4 million rows, against 30 ms. A skip index for each column did not help.
 */
export function prewhere(...conditions: readonly (string | false)[]): string {
  const all = allOf(...conditions);
  return all === "" ? "" : `PREWHERE ${all}`;
}

/** Filters on one column, which versions of a transaction may differ in. */
const columnFilters = [
  ["account", "account"],
  ["type", "type"],
  ["currency", "original_currency"],
  ["country", "customer_country"],
  ["status", "status"],
] as const;

const severalFilters = ["provider", "type", "currency", "country", "status"] as const;

/** @param sqlOf of a column: of a row, or of the shown version */
export function columnConditions(
  wanted: TransactionsWanted,
  sqlOf: (column: string) => string = (column) => column,
): string[] {
  const listed = wanted.accounts && accountsSql(wanted.accounts, sqlOf("account"));
  const others = columnFilters
    .map(([name, column]) => {
      const value = wanted[name];
      if (value === undefined) return "";
      return typeof value === "string"
        ? `${sqlOf(column)} = {${name}:String}`
        : `${sqlOf(column)} ${inSql(severalIn(value))} {${name}:Array(String)}`;
    })
    .filter((condition) => condition !== "");
  return listed === undefined ? others : [...others, listed];
}

/** Whether the shown version, with its status as of `at`, is wanted. */
export function isWanted(row: TransactionRow, wanted: TransactionsWanted): boolean {
  const { skus, ids } = wanted;
  return (
    columnFilters.every(([name, column]) => {
      const value = wanted[name];
      if (value === undefined) return true;
      return typeof value === "string" ? value === row[column] : isIn(value, row[column]);
    }) &&
    (ids?.includes(row.id) ?? true) &&
    (skus === undefined || isIn(skus, `${row.provider}:${row.external_id}`))
  );
}

function severalIn(wanted: Several | readonly string[]): Several {
  return "isNot" in wanted ? wanted : { isNot: false, values: wanted };
}

function isIn(wanted: Several | readonly string[], value: string): boolean {
  const { isNot, values } = severalIn(wanted);
  return values.includes(value) !== isNot;
}

/** Identifies the list, independent of its time. */
export function listKey(
  { workspace, environment }: Pick<PinnedAsOf, "workspace" | "environment">,
  wanted: TransactionsWanted,
): string {
  const columns = columnFilters.map(([name]) => wanted[name]);
  const { provider, skus, ids, segment } = wanted;
  return JSON.stringify([workspace, environment, provider, skus, ids, segment, ...columns]);
}

/**
 * How many transactions a list has: the version that counts of each is chosen, then filtered.
 * @param wanted no status as of a past moment: the table does not have it
 */
export function transactionCountQuery(asOf: PinnedAsOf, wanted: TransactionsWanted): Query {
  const { ids, skus } = wanted;
  const shownSql = (column: string) => `argMax(${column}, (recorded_at, fact_id, version))`;
  const rows = allOf(
    pageConditions(wanted, null),
    ofProvider(wanted),
    ids !== undefined && "id IN {ids:Array(String)}",
  );
  const shown = allOf(
    ...columnConditions(wanted, shownSql),
    skus !== undefined && `${shownSql(skuSql)} ${inSql(skus)} {skus:Array(String)}`,
  );
  return {
    sql: `SELECT count() AS transactions FROM (
  SELECT id FROM transactions WHERE ${rows}
  GROUP BY timestamp, id ${shown === "" ? "" : `HAVING ${shown}`}
) SETTINGS optimize_aggregation_in_order = 1`,
    params: pageParams(asOf, wanted, null, 1),
  };
}
