/**
 * Which accounts come next in an order, and by which keys. Only this is asked of all accounts;
 * details are read only for those of a page.
 */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { AsOf } from "../reading/as-of.js";
import { type Query, asOfParams, given, sumSettingsSql } from "../reading/query.js";
import { type AccountsWanted, accountParams, accountRows, everBegan } from "./query.js";
import type { AccountSort } from "./schema.js";

/** Where a page ended; of equal keys the accounts follow by their id. */
export interface AccountPosition {
  /** Decimal text, or ms since 1970 as text. */
  readonly key: string;
  readonly account: string;
}

/**
 * By MRR one pass over the rows is enough, unless accounts without anything left in the wanted part
 * would be among them, perhaps all: as in the unknown country, once the countries are known. First
 * and last movements are those that net to something, too.
 */
export function accountOrderQuery(
  asOf: AsOf,
  wanted: AccountsWanted,
  sort: AccountSort,
  after: AccountPosition | null,
  rowsMax: number,
): Query {
  const column = sort.replace("-", "");
  const isFalling = sort.startsWith("-");
  const { isActive, cell } = wanted;
  const isPlain = column === "mrr" && (cell.hasWholeAccounts || isActive === true);
  const sums = isPlain ? byMrr(asOf, wanted) : byMoment(asOf, wanted, column);
  const key = column === "mrr" ? "{after_key:Decimal(38, 6)}" : "{after_key:Int64}";
  const having = [
    ...(isActive === undefined ? [] : [isActive ? "worth > 0" : "worth = 0"]),
    ...(after === null
      ? []
      : [
          `(sort_key ${isFalling ? "<" : ">"} ${key} OR ` +
            `(sort_key = ${key} AND account > {after:String}))`,
        ]),
  ].map((condition) => ` AND ${condition}`);
  const order = `ORDER BY sort_key ${isFalling ? "DESC" : "ASC"}, account
LIMIT {rows_max:UInt32}`;
  const rows = `${sums}${having.join("")}\n${order}`;
  return {
    sql: `SELECT account, sort_key AS key FROM ${eachShard(rows)}
${order} ${sumSettingsSql}, optimize_use_projections = 0`,
    params: given({
      ...asOfParams(asOf),
      ...wanted.cell.params,
      ...accountParams(wanted),
      rows_max: rowsMax,
      after_key: after?.key,
      after: after?.account,
    }),
  };
}

/** The rows of an account lie in one shard. */
function byMrr(asOf: AsOf, wanted: AccountsWanted): string {
  const { condition } = wanted.cell;
  return `SELECT account, sumIf(mrr, ${condition}) AS worth, worth AS sort_key
FROM ${accountRows(asOf, wanted)}
GROUP BY account, vintage HAVING ${everBegan} AND countIf(${condition}) > 0`;
}

function byMoment(asOf: AsOf, wanted: AccountsWanted, column: string): string {
  const moments = `SELECT account, vintage, at, sumIf(mrr, ${wanted.cell.condition}) AS moved,
    sumIf(accounts, kind = 'new') AS begun
  FROM ${accountRows(asOf, wanted)} GROUP BY account, vintage, at`;
  const moment = (aggregate: string) => `toUnixTimestamp64Milli(${aggregate}(at, moved != 0))`;
  const key =
    column === "mrr" ? "worth" : column === "first_at" ? moment("minIf") : moment("maxIf");
  return `SELECT account, sum(moved) AS worth, ${key} AS sort_key
FROM (${moments})
GROUP BY account, vintage HAVING sum(begun) > 0 AND countIf(moved != 0) > 0`;
}
