/** What the ledger says was refunded and disputed of payments up to `at`, in each currency. */
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "../reading/query.js";

/** Minor units of `currency` as text, signed as in the ledger. */
export interface PaymentHistoryRow {
  readonly payment: string;
  /**
   * A payment whose sale was reported anew has rows in the currency it was reported in before, too.
   */
  readonly currency: string;
  readonly refunds_then: string;
  /** The same, in minor units of base. */
  readonly refunds_in_base_then: string;
  /** Withdrawals and returns. */
  readonly disputes_then: string;
}

/** @param payments as the ledger names them */
export function paymentHistoryQuery(asOf: PinnedAsOf, payments: readonly string[]): Query {
  const then = `happened_at <= ${atSql}`;
  return {
    sql: `SELECT payment, currency,
  sumIf(original_amount, kind = 'refund' AND ${then}) AS refunds_then,
  sumIf(amount, kind = 'refund' AND ${then}) AS refunds_in_base_then,
  sumIf(original_amount, kind IN ('dispute', 'dispute_won') AND ${then}) AS disputes_then
FROM ledger
WHERE ${tenantSql} AND recorded_at <= ${knownAtSql} AND payment IN {payments:Array(String)}
GROUP BY payment, currency`,
    params: { ...asOfParams(asOf), payments },
  };
}
