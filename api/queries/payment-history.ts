/** What the ledger says was refunded and disputed of payments up to `at`. */
import type { PinnedAsOf } from "../pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "./query.js";

/** Minor units of each entry's original currency as text, signed as in the ledger. */
export interface PaymentHistoryRow {
  readonly payment: string;
  /** Of refunds in the currency of the sale. */
  readonly refunds_then: string;
  /** Withdrawals and returns. */
  readonly disputes_then: string;
}

/** @param payments as the ledger names them */
export function paymentHistoryQuery(asOf: PinnedAsOf, payments: readonly string[]): Query {
  const then = `happened_at <= ${atSql}`;
  return {
    sql: `SELECT payment,
  sumIf(original_amount, kind = 'refund' AND ${then}
    AND currency = sale_currency) AS refunds_then,
  sumIf(original_amount, kind IN ('dispute', 'dispute_won') AND ${then}) AS disputes_then
FROM (
  SELECT *, anyIf(currency, kind = 'sale') OVER (PARTITION BY payment) AS sale_currency
  FROM ledger
  WHERE ${tenantSql} AND recorded_at <= ${knownAtSql} AND payment IN {payments:Array(String)}
)
GROUP BY payment`,
    params: { ...asOfParams(asOf), payments },
  };
}
