/** Finds the accounts that a provider's own id or an e-mail may belong to. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { type CustomerReader, accountsCalled } from "../../workspaces/customers/stored.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "../reading/query.js";
import { rowsOf } from "../reading/reading.js";
import { transactionsNamed } from "../transactions/search.js";
import { everBegan } from "./query.js";

interface Searched {
  readonly clickhouse: Pick<ClickHouse, "rows">;
  readonly hash: HashAccount;
  /** Null: the member may not see customers by name. */
  readonly names: CustomerReader | null;
}

/**
 * The account itself; the customer with that id or e-mail at any provider; and whoever paid what
 * has that id: a payment, an invoice, an order.
 * @param text an id or an e-mail, exactly
 */
export async function accountsNamed(
  { clickhouse, hash, names }: Searched,
  asOf: PinnedAsOf,
  text: string,
): Promise<string[]> {
  const { workspace, environment } = asOf;
  const ids = [text, text.toLowerCase()].flatMap((id) =>
    providerTokens.map((provider) => hash(workspace, environment, provider, id)),
  );
  const called = names === null ? [] : await accountsCalled(names, asOf, text);
  const transactions = await transactionsNamed(clickhouse, asOf, text);
  const payers = await rowsOf<{ readonly account: string }>(
    { clickhouse },
    payersQuery(asOf, transactions),
  );
  return [...new Set([text, ...ids, ...called, ...payers.map(({ account }) => account)])];
}

export interface OtherAccountRow {
  readonly account: string;
  readonly provider: string;
}

/**
 * Those of these accounts that paid something or have a subscription, but never had MRR. Lists of
 * MRR leave them out.
 */
export async function accountsWithoutMrr(
  { clickhouse }: Pick<Searched, "clickhouse">,
  asOf: PinnedAsOf,
  accounts: readonly string[],
): Promise<OtherAccountRow[]> {
  const [known, withMrr] = await Promise.all([
    rowsOf<OtherAccountRow>({ clickhouse }, knownAccountsQuery(asOf, accounts)),
    rowsOf<{ readonly account: string }>({ clickhouse }, mrrAccountsQuery(asOf, accounts)),
  ]);
  const others = new Set(withMrr.map(({ account }) => account));
  return known.filter(({ account }) => !others.has(account));
}

export function knownAccountsQuery(asOf: PinnedAsOf, accounts: readonly string[]): Query {
  const ofAccounts = `${tenantSql} AND account IN {accounts:Array(String)}
    AND recorded_at <= ${knownAtSql}`;
  return {
    sql: `SELECT account, any(owner) AS provider FROM (
  SELECT account, provider AS owner FROM subscription_changes
  WHERE ${ofAccounts} AND at <= ${atSql}
  UNION ALL
  SELECT account, provider AS owner FROM transactions
  WHERE ${ofAccounts} AND timestamp <= ${atSql}
) GROUP BY account ORDER BY account`,
    params: { ...asOfParams(asOf), accounts },
  };
}

function mrrAccountsQuery(asOf: PinnedAsOf, accounts: readonly string[]): Query {
  return {
    sql: `SELECT account FROM mrr_movements
WHERE ${tenantSql} AND account IN {accounts:Array(String)} AND at <= ${atSql}
  AND recorded_at <= ${knownAtSql}
GROUP BY account HAVING ${everBegan}`,
    params: { ...asOfParams(asOf), accounts },
  };
}

function payersQuery(asOf: PinnedAsOf, transactions: readonly string[]): Query {
  return {
    sql: `SELECT DISTINCT account FROM transactions
PREWHERE id IN {ids:Array(String)}
WHERE ${tenantSql} AND recorded_at <= ${knownAtSql} AND account != ''`,
    params: { ...asOfParams(asOf), ids: transactions },
  };
}
