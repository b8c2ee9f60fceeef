/**
 * What a transaction looked like at a past moment: its refunds and disputes dated later are taken
 * out again, by what the ledger says happened when (`definitions.md`, Two clocks).
 */
import type { PaymentHistoryRow } from "./queries/payment-history.js";
import type { TransactionRow } from "./queries/transactions.js";

/** @param history of its payment; undefined when the ledger has nothing */
export function transactionAsOf(
  row: TransactionRow,
  history: PaymentHistoryRow | undefined,
): TransactionRow {
  // A refund that names no sale was one from its first moment, which is its timestamp.
  if (history === undefined || row.type === "refund") return row;
  const refunded = -BigInt(history.refunds_then);
  return {
    ...row,
    refunded_amount: refunded.toString(),
    status: statusThen(row, refunded, history),
  };
}

function statusThen(row: TransactionRow, refunded: bigint, history: PaymentHistoryRow): string {
  if (BigInt(history.disputes_then) < 0n) return "disputed";
  return refunded >= BigInt(row.gross_amount) ? "refunded" : "succeeded";
}
