/** Accounts that ever had MRR, and their subscriptions, as of two moments. */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { AsOf } from "../reading/as-of.js";
import { type AccountsPart, accountsParams, accountsSql } from "../reading/accounts.js";
import { type Cell, inSql } from "../reading/metric-filters.js";
import { movementRows } from "../reading/movements.js";
import { type Query, asOfParams, sumSettingsSql } from "../reading/query.js";
import type { Several } from "../../schemas/http/several.js";

/** Decimal text, base currency; moments in ms since 1970, as text. */
export interface AccountRow {
  readonly account: string;
  readonly provider: string;
  /** `YYYY-MM` */
  readonly vintage_month: string;
  readonly worth: string;
  readonly began: string;
  readonly first_at_ms: string;
  readonly last_at_ms: string;
}

export interface AccountsWanted {
  readonly cell: Pick<Cell, "condition" | "params" | "hasWholeAccounts">;
  /** First days of their months: `YYYY-MM-DD`. */
  readonly vintages?: Several | undefined;
  readonly isActive?: boolean | undefined;
  readonly accounts?: AccountsPart | undefined;
}

/**
 * Some accounts, in no order. Movements that were corrected later may net to nothing at a moment:
 * `sumMap` drops those, and an account without any moment left never had anything. Takes 15 times
 * as long as a sum, so it is not asked of all accounts.
 */
export function accountsQuery(
  asOf: AsOf,
  {
    cell,
    vintages,
  }: Pick<AccountsWanted, "vintages"> & { readonly cell: Pick<Cell, "condition" | "params"> },
  accounts: readonly string[],
): Query {
  const wanted = { vintages, accounts: { listed: accounts } };
  const sums = `SELECT account, any(provider) AS owner,
  formatDateTime(vintage, '%Y-%m') AS vintage_month,
  sumIf(mrr, ${cell.condition}) AS worth,
  sumIf(mrr, kind = 'new' AND (${cell.condition})) AS began,
  sumMapIf([toUnixTimestamp64Milli(at)], [mrr], ${cell.condition}).1 AS moves
FROM ${accountRows(asOf, wanted)}
GROUP BY workspace, environment, account, vintage
HAVING ${everBegan} AND notEmpty(moves)`;
  return {
    sql: `SELECT account, owner AS provider, vintage_month, worth, began,
  moves[1] AS first_at_ms, moves[-1] AS last_at_ms
FROM ${eachShard(sums)}
${sumSettingsSql}, optimize_aggregation_in_order = 1, optimize_use_projections = 0`,
    params: { ...asOfParams(asOf), ...cell.params, ...accountParams(wanted) },
  };
}

/** Of whole rows: the account had MRR, in the cell or not. */
export const everBegan = "sumIf(accounts, kind = 'new') > 0";

type RowsWanted = Pick<AccountsWanted, "vintages" | "accounts">;

/** The movements of wanted accounts: ends in a condition. */
export function accountRows(asOf: AsOf, { vintages, accounts }: RowsWanted): string {
  return [
    movementRows(asOf),
    ...(vintages === undefined ? [] : [`vintage ${inSql(vintages)} {vintages:Array(Date)}`]),
    ...(accounts === undefined ? [] : [accountsSql(accounts)]),
  ].join(" AND ");
}

export function accountParams({ vintages, accounts }: RowsWanted): Query["params"] {
  return {
    ...(vintages === undefined ? {} : { vintages: vintages.values }),
    ...accountsParams(accounts),
  };
}

export interface AccountSubscriptionRow {
  readonly subscription: string;
  readonly provider: string;
  readonly external_id: string;
  readonly currency: string;
  readonly country: string;
  readonly worth: string;
  readonly first_at_ms: string;
  readonly last_at_ms: string;
}

export function accountSubscriptionsQuery(asOf: AsOf, account: string, rowsMax: number): Query {
  const rows = `SELECT subscription, provider, external_id, currency, country, at, mrr
FROM ${movementRows(asOf)} AND account = {account:String}`;
  return {
    sql: `SELECT subscription, provider, external_id, currency, country, worth,
  moves[1] AS first_at_ms, moves[-1] AS last_at_ms
FROM (
  SELECT subscription, provider, external_id, currency, country, sum(mrr) AS worth,
    sumMap([toUnixTimestamp64Milli(at)], [mrr]).1 AS moves
  FROM ${eachShard(rows)}
  GROUP BY subscription, provider, external_id, currency, country
) WHERE notEmpty(moves)
ORDER BY first_at_ms DESC, subscription, external_id, currency, country LIMIT {rows_max:UInt32}
${sumSettingsSql}`,
    params: { ...asOfParams(asOf), account, rows_max: rowsMax },
  };
}
