/** Reads transactions, a page or all: chooses the version of each, then filters. */
import type { ClickHouse } from "../backends/clickhouse.js";
import { limits } from "../config.js";
import type { PinnedAsOf } from "./pages.js";
import { type PaymentHistoryRow, paymentHistoryQuery } from "./queries/payment-history.js";
import { type TransactionCountRow, transactionCountQuery } from "./queries/transaction-count.js";
import {
  type TransactionPosition,
  type TransactionRow,
  type TransactionsWanted,
  isWanted,
  transactionsQuery,
} from "./queries/transactions.js";
import { transactionAsOf } from "./status-as-of.js";

/** Most transactions have up to this many versions; those with more only cost a further read. */
const versionsUsual = 3;
/** Rows of one read: a filter few rows pass makes each read twice as long, up to this. */
const readRowsMax = 5_000;

/** All that are wanted, newest first, read by read. */
export async function* readAllTransactions(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
): AsyncGenerator<TransactionRow[]> {
  const rowsMax = limits.exportPageRows;
  yield* readsOf(clickhouse, asOf, wanted, null, { first: rowsMax, max: rowsMax });
}

/** @returns null when only reading them all tells how many there are */
export async function countTransactions(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
): Promise<number | null> {
  if (wanted.isPast && wanted.status !== undefined) return null;
  const { sql, params } = transactionCountQuery(asOf, wanted);
  const [row] = await clickhouse.rows<TransactionCountRow>(sql, params);
  return Number(row?.transactions ?? 0);
}

/** @returns up to `limit` rows, and where the next page begins; null at the end of the list */
export async function readTransactions(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
  after: TransactionPosition | null,
  limit: number,
): Promise<{ rows: TransactionRow[]; last: TransactionPosition | null }> {
  const found: TransactionRow[] = [];
  const first = Math.min(readRowsMax, versionsUsual * (limit + 1));
  const reads = readsOf(clickhouse, asOf, wanted, after, { first, max: readRowsMax });
  for await (const rows of reads) {
    found.push(...rows);
    if (found.length > limit) {
      const page = found.slice(0, limit);
      return { rows: page, last: positionOf(page.at(-1)) };
    }
  }
  return { rows: found, last: null };
}

/** @param rows of the first read, and of the largest */
async function* readsOf(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
  after: TransactionPosition | null,
  rows: Readonly<Record<"first" | "max", number>>,
): AsyncGenerator<TransactionRow[]> {
  let position = after;
  let rowsMax = rows.first;
  // Ends with the list at the latest: every read begins below the one before.
  for (;;) {
    const { sql, params } = transactionsQuery(asOf, wanted, position, rowsMax);
    const versions = await clickhouse.rows<TransactionRow>(sql, params);
    const chosen = firstOfEachId(versions);
    const shown = wanted.isPast ? await asOfThen(clickhouse, asOf, chosen) : chosen;
    yield shown.filter((row) => isWanted(row, wanted));
    if (versions.length < rowsMax) return;
    position = positionOf(versions.at(-1));
    rowsMax = Math.min(rows.max, 2 * rowsMax);
  }
}

/** The rows of one id lie together, the version that counts first. */
function firstOfEachId(rows: readonly TransactionRow[]): TransactionRow[] {
  return rows.filter((row, index) => row.id !== rows[index - 1]?.id);
}

/** Rows as they were at `at`, though more is known. */
export async function asOfThen(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  rows: readonly TransactionRow[],
): Promise<TransactionRow[]> {
  const { sql, params } = paymentHistoryQuery(asOf, rows.map(ledgerPayment));
  const histories = await clickhouse.rows<PaymentHistoryRow>(sql, params);
  const byPayment = new Map(histories.map((history) => [history.payment, history]));
  return rows.map((row) => transactionAsOf(row, byPayment.get(ledgerPayment(row))));
}

/** How the ledger names the payment of a transaction. */
export function ledgerPayment(row: Pick<TransactionRow, "provider" | "payment">): string {
  return `${row.provider}:${row.payment}`;
}

function positionOf(row: TransactionRow | undefined): TransactionPosition | null {
  return row === undefined ? null : { timestamp: Number(row.timestamp_ms), id: row.id };
}
