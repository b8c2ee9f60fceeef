/**
 * Compares the ledger with what it should be, by slices of payments, and makes the rows that repair
 * it.
 */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { findingOf, type SliceFinding } from "./movements.js";
import { isoTime, ledgerIn, type PaymentSlice } from "./money.js";
import {
  insertBooked,
  ledgerColumns,
  ledgerDimensions,
  ledgerRows,
  type PaymentName,
} from "../book/money/money-tables.js";
import type { LedgerRow } from "../book/payment/payment-versions.js";

/** Minor units; `sales` a number of them. */
const measures = ["original_amount", "amount", "tax", "fee", "sales"] as const;
type Measure = (typeof measures)[number];

/** As ClickHouse writes them. */
type Dimensions = Readonly<Record<(typeof ledgerDimensions)[number], string>>;
type Difference = Dimensions & Readonly<Record<Measure, bigint>>;

/**
 * @param repair only while nothing books: a difference worked out here and there would be added
 *   twice
 * @returns of `rows` how many sets of dimensions were compared
 */
export async function auditLedger(
  clickhouse: ClickHouse,
  slice: PaymentSlice,
  payments: readonly (PaymentName & { readonly ledger: readonly LedgerRow[] })[],
  repair: boolean,
): Promise<SliceFinding> {
  const dimensions = ledgerDimensions.join(", ");
  const sums = measures.map((name) => `toString(sum(${name})) AS ${name}_sum`);
  const stored = await clickhouse.rows<Dimensions & Readonly<Record<`${Measure}_sum`, string>>>(
    `SELECT ${dimensions}, ${sums.join(", ")} FROM ledger
     WHERE ${ledgerIn(slice)} GROUP BY ${dimensions}`,
  );
  const compared = new Map<string, Difference>();
  const add = (row: Dimensions, more: (name: Measure) => bigint): void => {
    const key = JSON.stringify(ledgerDimensions.map((name) => row[name]));
    const before = compared.get(key);
    const sum = (name: Measure) => (before?.[name] ?? 0n) + more(name);
    compared.set(key, {
      ...row,
      original_amount: sum("original_amount"),
      amount: sum("amount"),
      tax: sum("tax"),
      fee: sum("fee"),
      sales: sum("sales"),
    });
  };
  for (const payment of payments) {
    for (const row of ledgerRows(payment, payment.ledger)) add(row, (name) => BigInt(row[name]));
  }
  for (const row of stored) add(row, (name) => -BigInt(row[`${name}_sum`]));
  const differences = [...compared.values()].filter((row) =>
    measures.some((name) => row[name] !== 0n),
  );
  if (repair) await insertBooked(clickhouse, "ledger", ledgerColumns, differences, "money");
  const amount = differences.reduce((sum, row) => sum + row.amount, 0n).toString();
  return findingOf(compared.size, amount, differences, (row) => ({
    subject: row.payment,
    at: isoTime(row.happened_at),
    what: row.entry,
    amount: row.amount.toString(),
  }));
}
