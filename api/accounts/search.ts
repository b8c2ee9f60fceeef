/** Which accounts a provider's own id may stand for. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { HashAccount } from "../../vault/account-hash.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, knownAtSql, tenantSql } from "../reading/query.js";
import { rowsOf } from "../reading/reading.js";
import { transactionsNamed } from "../transactions/search.js";

/**
 * The account itself; the customer with that id at any provider (of Gumroad an e-mail, where it
 * tells no id); and whoever paid what has that id: a payment, an invoice, an order.
 *
 * @param text an id, exactly
 */
export async function accountsNamed(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  hash: HashAccount,
  text: string,
): Promise<string[]> {
  const { workspace, environment } = asOf;
  const ids = [text, text.toLowerCase()].flatMap((id) =>
    providerTokens.map((provider) => hash(workspace, environment, provider, id)),
  );
  const transactions = await transactionsNamed(clickhouse, asOf, text);
  const payers = await rowsOf<{ readonly account: string }>(
    { clickhouse },
    payersQuery(asOf, transactions),
  );
  return [...new Set([text, ...ids, ...payers.map(({ account }) => account)])];
}

/** A guest has no account. */
function payersQuery(asOf: PinnedAsOf, transactions: readonly string[]): Query {
  return {
    sql: `SELECT DISTINCT account FROM transactions
PREWHERE id IN {ids:Array(String)}
WHERE ${tenantSql} AND recorded_at <= ${knownAtSql} AND account != ''`,
    params: { ...asOfParams(asOf), ids: transactions },
  };
}
