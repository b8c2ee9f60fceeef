/**
 * What a transaction looked like at a past moment: its refunds and disputes dated later are taken
 * out again, by what the ledger says happened when (`definitions.md`, Two clocks).
 */
import type { PaymentHistoryRow } from "./queries/payment-history.js";
import type { TransactionRow } from "./queries/transactions.js";

/** @param history of its payment, currency by currency; empty when the ledger has nothing */
export function transactionAsOf(
  row: TransactionRow,
  history: readonly PaymentHistoryRow[],
): TransactionRow {
  // A refund that names no sale was one from its first moment, which is its timestamp.
  if (history.length === 0 || row.type === "refund") return row;
  const own = history.find(({ currency }) => currency === row.original_currency);
  const refunded = -BigInt(own?.refunds_then ?? 0);
  return {
    ...row,
    refunded_amount: refunded.toString(),
    status: statusThen(row, refunded, history),
  };
}

function statusThen(
  row: TransactionRow,
  refunded: bigint,
  history: readonly PaymentHistoryRow[],
): string {
  if (history.some((each) => BigInt(each.disputes_then) < 0n)) return "disputed";
  return refunded >= BigInt(row.gross_amount) ? "refunded" : "succeeded";
}
