/**
 * What a transaction looked like at a past moment: later refunds and disputes are taken out again,
 * by the times in the ledger (`definitions.md`, Two clocks).
 */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { grouped } from "../../runtime/lists.js";
import { refundedOf } from "../../schemas/money/money.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "../reading/query.js";
import { rowsOf } from "../reading/reading.js";
import type { TransactionRow } from "./listed-row.js";

/** Rows as they were at `at`, although more is known. */
export async function asOfThen(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  rows: readonly TransactionRow[],
): Promise<TransactionRow[]> {
  const query = paymentHistoryQuery(asOf, rows.map(ledgerPayment));
  const histories = await rowsOf<PaymentHistoryRow>({ clickhouse }, query);
  const byPayment = grouped(histories, ({ payment }) => payment);
  return rows.map((row) => transactionAsOf(row, byPayment.get(ledgerPayment(row)) ?? []));
}

export function ledgerPayment(row: Pick<TransactionRow, "provider" | "payment">): string {
  return `${row.provider}:${row.payment}`;
}

/**
 * What the ledger has as refunded and disputed of a payment up to `at`, in each currency: minor
 * units as text, signed as in the ledger.
 */
interface PaymentHistoryRow {
  readonly payment: string;
  /** A payment whose sale was reported anew has rows in its earlier currency, too. */
  readonly currency: string;
  readonly refunds_then: string;
  /** The same, in minor units of base. */
  readonly refunds_in_base_then: string;
  /** Withdrawals and returns. */
  readonly disputes_then: string;
}

/** @param payments as the ledger names them */
function paymentHistoryQuery(asOf: PinnedAsOf, payments: readonly string[]): Query {
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

/** @param history of its payment, currency by currency; empty when the ledger has nothing */
function transactionAsOf(
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
