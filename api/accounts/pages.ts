import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import { type Page, pageFrom, type PinnedAsOf, type Placed } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import {
  accountParams,
  type AccountRow,
  accountRows,
  accountsQuery,
  type AccountsWanted,
  everBegan,
} from "./query.js";
import type { AccountSort } from "./schema.js";
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { AsOf } from "../reading/as-of.js";
import { asOfParams, given, type Query, sumSettingsSql } from "../reading/query.js";

export interface AccountList {
  readonly clickhouse: Pick<ClickHouse, "rows">;
  readonly asOf: PinnedAsOf;
  readonly wanted: AccountsWanted;
  readonly sort: AccountSort;
}

/** An account may be left out of the answer: then more are read, up to so many at a time. */
const readAccountsMax = 2_000;
/** All accounts are looked at to find the next ones, so an export asks for many at once. */
const exportAccountsMax = 50_000;

export function readAccounts(
  list: AccountList,
  after: AccountPosition | null,
  limit: number,
): Promise<Page<AccountRow, AccountPosition>> {
  return pageFrom(readsOf(list, after, { first: limit + 1, max: readAccountsMax }), limit);
}

export async function* readAllAccounts(list: AccountList): AsyncGenerator<AccountRow[]> {
  const counts = { first: exportAccountsMax, max: exportAccountsMax };
  for await (const some of readsOf(list, null, counts)) yield some.map(({ row }) => row);
}

type Ordered = Placed<AccountRow, AccountPosition>;

async function* readsOf(
  { clickhouse, asOf, wanted, sort }: AccountList,
  after: AccountPosition | null,
  counts: Readonly<Record<"first" | "max", number>>,
): AsyncGenerator<Ordered[]> {
  let count = counts.first;
  // Ends with the list at the latest: every read begins after the one before.
  for (let last = after; ;) {
    const order = accountOrderQuery(asOf, wanted, sort, last, count);
    const positions = await rowsOf<AccountPosition>({ clickhouse }, order);
    for (let from = 0; from < positions.length; from += limits.exportPageRows) {
      const some = positions.slice(from, from + limits.exportPageRows);
      const ids = some.map(({ account }) => account);
      const rows = await rowsOf<AccountRow>({ clickhouse }, accountsQuery(asOf, wanted, ids));
      const byId = new Map(rows.map((row) => [row.account, row]));
      yield some.flatMap((position) => {
        const row = byId.get(position.account);
        return row === undefined ? [] : [{ row, position }];
      });
    }
    if (positions.length < count) return;
    last = positions.at(-1) ?? null;
    count = Math.min(counts.max, 2 * count);
  }
}

/** Where a page ended; of equal keys the accounts follow by their id. */
interface AccountPosition {
  /** Decimal text, or ms since 1970 as text. */
  readonly key: string;
  readonly account: string;
}

/**
 * By MRR one pass over the rows is enough, unless accounts without anything left in the wanted part
 * would be among them, perhaps all: as in the unknown country, once the countries are known. First
 * and last movements are those that net to something, too.
 */
function accountOrderQuery(
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
