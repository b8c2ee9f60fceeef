/** The changes of all accounts of a workspace, slice by slice, and what was refunded. */
import type { StateChange } from "../../schemas/subscriptions/account-state.js";
import { startOfMonth } from "../../schemas/months.js";
import { type AccountsPart, accountsParams, accountsSql } from "../reading/accounts.js";
import type { PinnedAsOf } from "../reading/pages.js";
import {
  type Query,
  allOf,
  asOfParams,
  atSql,
  given,
  knownAtSql,
  momentSql,
  tenantSql,
} from "../reading/query.js";

export interface AccountsCompared {
  readonly asOf: PinnedAsOf;
  /** Default: all. */
  readonly provider?: readonly string[] | undefined;
  readonly accounts?: AccountsPart | undefined;
}

export interface ComparedChange extends StateChange {
  readonly account: string;
}

/** Accounts after the first up to the second, inclusive; null: to the last. */
export interface AccountSlice {
  readonly after: string;
  readonly upTo: string | null;
}

export function changesCountQuery(of: AccountsCompared): Query {
  return {
    sql: `SELECT count() AS changes FROM subscription_changes WHERE ${changesSql(of)}`,
    params: paramsOf(of),
  };
}

/**
 * One row with the account at which a slice of about `rowsMax` changes ends; none: all are in it.
 */
export function sliceEndQuery(of: AccountsCompared, after: string, rowsMax: number): Query {
  return {
    sql: `SELECT account FROM subscription_changes
WHERE ${changesSql(of)} AND account > {after:String}
ORDER BY account LIMIT 1 OFFSET {rows_max:UInt32}`,
    params: { ...paramsOf(of), after, rows_max: rowsMax },
  };
}

export function changesQuery(of: AccountsCompared, { after, upTo }: AccountSlice): Query {
  const isInSlice = upTo !== null && "account <= {up_to:String}";
  return {
    sql: `SELECT account, provider, subscription, change_id, revision, void, at, phase, event_id,
  recorded_at, steps
FROM subscription_changes
WHERE ${allOf(changesSql(of), "account > {after:String}", isInSlice)}`,
    params: given({ ...paramsOf(of), after, up_to: upTo }),
  };
}

function changesSql({ provider, accounts }: AccountsCompared): string {
  return allOf(
    tenantSql,
    "subscription != ''",
    `at < ${momentSql("until")}`,
    `recorded_at <= ${knownAtSql}`,
    provider !== undefined && "provider IN {provider:Array(String)}",
    accounts !== undefined && accountsSql(accounts),
  );
}

export interface RefundedRow {
  readonly account: string;
  readonly external_id: string;
}

/** SKUs of which an account's newest subscription payment had been refunded as a whole by then. */
export function refundedQuery(of: AccountsCompared): Query {
  const known = `${tenantSql} AND recorded_at <= ${knownAtSql}`;
  const payment = "concat(provider, ':', payment)";
  const entries = `SELECT payment FROM ledger WHERE ${known} AND happened_at <= ${atSql}`;
  const refunded = `${entries} AND payment IN (${entries} AND kind = 'refund')
    AND kind IN ('sale', 'refund') GROUP BY payment HAVING sum(toInt128(amount)) = 0`;
  const payments = `FROM transactions WHERE ${known} AND timestamp <= ${atSql}
    AND type = 'subscription'`;
  return {
    sql: `SELECT account, external_id FROM (
  SELECT account, external_id, argMax(${payment}, timestamp) AS newest ${payments}
    AND account IN (SELECT account ${payments} AND ${payment} IN (${refunded}))
  GROUP BY account, external_id
) WHERE newest IN (${refunded})`,
    params: paramsOf(of),
  };
}

function paramsOf({ asOf, provider, accounts }: AccountsCompared): Query["params"] {
  // To the end of the month, which a rule may look at.
  const until = startOfMonth(asOf.at, 1);
  return given({ ...asOfParams(asOf), ...accountsParams(accounts), provider, until });
}
