/**
 * What a transaction looked like at a past moment: its refunds and disputes dated later are taken
 * out again, by what the ledger says happened when (`definitions.md`, Two clocks).
 */
import { refundedOf } from "../../schemas/money/refunded.js";
import type { PaymentHistoryRow } from "./payment-history-query.js";
import type { TransactionRow } from "./listed-row.js";

/** @param history of its payment, currency by currency; empty when the ledger has nothing */
export function transactionAsOf(
  row: TransactionRow,
  history: readonly PaymentHistoryRow[],
): TransactionRow {
  // A refund that names no sale was one from its first moment, which is its timestamp.
  if (history.length === 0 || row.type === "refund") return row;
  const refunded = refundedThen(row, history);
  return {
    ...row,
    refunded_amount: refunded.toString(),
    status: statusThen(row, refunded, history),
  };
}

function refundedThen(row: TransactionRow, history: readonly PaymentHistoryRow[]): bigint {
  const own = history.find(({ currency }) => currency === row.original_currency);
  const others = history
    .filter((each) => each !== own)
    .reduce((sum, each) => sum - BigInt(each.refunds_in_base_then), 0n);
  const sale = {
    amount: BigInt(row.gross_amount),
    normalized: BigInt(row.normalized_amount),
    currency: row.original_currency,
    base: row.base_currency,
    rate: row.fx_rate,
  };
  return refundedOf(sale, -BigInt(own?.refunds_then ?? 0), others);
}

function statusThen(
  row: TransactionRow,
  refunded: bigint,
  history: readonly PaymentHistoryRow[],
): string {
  if (history.some((each) => BigInt(each.disputes_then) < 0n)) return "disputed";
  return refunded >= BigInt(row.gross_amount) ? "refunded" : "succeeded";
}
