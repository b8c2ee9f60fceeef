/**
 * What a transaction looked like at a past moment: its refunds and disputes dated later are taken
 * out again, by what the ledger says happened when (`definitions.md`, Two clocks).
 */
import { divideRounded } from "../schemas/decimal.js";
import type { PaymentHistoryRow } from "./queries/payment-history.js";
import type { TransactionRow } from "./queries/transactions.js";

/** @param history of its payment; undefined when the ledger has nothing */
export function transactionAsOf(
  row: TransactionRow,
  history: PaymentHistoryRow | undefined,
): TransactionRow {
  // A refund that names no sale was one from its first moment, which is its timestamp.
  if (history === undefined || row.type === "refund") return row;
  const refunded = refundedThen(row, history);
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

/**
 * Minor units of the original currency. The ledger knows the base currency only: of what is
 * refunded in all, the share that was by then.
 */
function refundedThen(row: TransactionRow, history: PaymentHistoryRow): bigint {
  const then = BigInt(history.refunds_then);
  const ever = BigInt(history.refunds_ever);
  const refunded = BigInt(row.refunded_amount);
  if (then === ever) return refunded;
  // Refunds that failed since: the sale's own rate tells.
  if (ever === 0n) {
    const sale = BigInt(history.sale);
    return sale === 0n ? 0n : divideRounded(BigInt(row.gross_amount) * -then, sale);
  }
  return divideRounded(refunded * then, ever);
}
