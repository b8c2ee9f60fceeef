/** Which accounts a question is about: those of a list, those that began at a price. */
import type { FirstPrice } from "../../schemas/http/segments.js";
import { type Query, allOf, given, momentSql, tenantSql } from "./query.js";

export interface AccountsPart {
  /** Keyed hashes. */
  readonly listed?: readonly string[] | undefined;
  /** Of what their `new` movements come to. */
  readonly firstPrice?: FirstPrice | undefined;
}

/**
 * A condition on accounts, in terms of `accountsParams` and `asOfParams`. `GLOBAL`, because it is
 * asked of tables that lie in other shards than the movements, too (`isAcrossShards`).
 *
 * @param account SQL
 */
export function accountsSql({ listed, firstPrice }: AccountsPart, account = "account"): string {
  const isBelow = firstPrice?.below !== undefined && "sum(mrr) < {price_below:Decimal(38, 6)}";
  const began = `SELECT account FROM mrr_movements
  WHERE ${tenantSql} AND kind = 'new' AND recorded_at <= ${momentSql("accounts_known_at")}
  GROUP BY account
  HAVING ${allOf("sum(accounts) > 0", "sum(mrr) >= {price_from:Decimal(38, 6)}", isBelow)}`;
  return allOf(
    listed !== undefined && `${account} IN {accounts:Array(String)}`,
    firstPrice !== undefined && `${account} GLOBAL IN (${began})`,
  );
}

export function accountsParams(part: AccountsPart | undefined): Query["params"] {
  const { listed, firstPrice } = part ?? {};
  return given({ accounts: listed, price_from: firstPrice?.from, price_below: firstPrice?.below });
}

/** Whether a payment's shard does not know it: payments lie apart from the movements of MRR. */
export function isAcrossShards(part: AccountsPart | undefined): boolean {
  return part?.firstPrice !== undefined;
}
