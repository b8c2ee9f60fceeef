/** What the ledger says of payments up to `at`, and what it says in all. */
import type { PinnedAsOf } from "../pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "./query.js";

/** Minor units of base currency as text, signed as in the ledger. */
export interface PaymentHistoryRow {
  readonly payment: string;
  readonly sale: string;
  readonly refunds_then: string;
  readonly refunds_ever: string;
  /** Withdrawals and returns. */
  readonly disputes_then: string;
}

/** @param payments as the ledger names them */
export function paymentHistoryQuery(asOf: PinnedAsOf, payments: readonly string[]): Query {
  const then = `happened_at <= ${atSql}`;
  return {
    sql: `SELECT payment,
  sumIf(amount, kind = 'sale') AS sale,
  sumIf(amount, kind = 'refund' AND ${then}) AS refunds_then,
  sumIf(amount, kind = 'refund') AS refunds_ever,
  sumIf(amount, kind IN ('dispute', 'dispute_won') AND ${then}) AS disputes_then
FROM ledger
WHERE ${tenantSql} AND recorded_at <= ${knownAtSql} AND payment IN {payments:Array(String)}
GROUP BY payment`,
    params: { ...asOfParams(asOf), payments },
  };
}
