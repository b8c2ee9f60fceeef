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
  versionColumns,
  versionRows,
} from "../book/money/money-tables.js";
import type { LedgerRow, Version } from "../book/payment/payment-versions.js";
import { clickhouseTime, matching } from "../../stores/clickhouse/rows.js";
import { grouped } from "../../runtime/lists.js";

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

const documentColumns =
  "timestamp, account, external_id, gross_amount, original_currency, normalized_amount, " +
  "base_currency, fx_rate, fx_date, fx_source, refunded_amount, tax_amount, fee_amount, " +
  "customer_country, type, status";

type Row = ReturnType<typeof versionRows>[number];
type Stored = Pick<Row, "id" | "recorded_at" | "fact_id" | "version">;

interface VersionDifference {
  readonly payment: string;
  readonly recorded_at: string;
  readonly what: string;
  /**
   * The row that outranks the wrong one; null where nothing should be known, which no row can mend.
   */
  readonly row: Row | null;
}

/**
 * Checks that each transaction, as of every moment something was recorded about it, is the document
 * that follows from the facts known then. A row that was written while less was known may stay,
 * because it is outranked (`migrations/clickhouse`).
 * @returns also how many rows were read for it
 */
export async function auditVersions(
  clickhouse: ClickHouse,
  { provider, knownTo }: PaymentSlice,
  payments: readonly (PaymentName & { readonly versions: readonly Version[] })[],
  repair: boolean,
): Promise<SliceFinding & { readonly stored: number }> {
  const all = payments.map((payment) => versionRows(payment, payment.versions));
  const stored = await storedOf(clickhouse, all.flat(), knownTo);
  const byId = grouped(stored, ({ id }) => id);
  let rows = 0;
  const differences: VersionDifference[] = [];
  for (const should of all) {
    const [first] = should;
    if (first === undefined) continue;
    const is = byId.get(first.id) ?? [];
    const moments = new Set([...should, ...is].map(({ recorded_at }) => recorded_at));
    for (const moment of [...moments].sort()) {
      rows += 1;
      const right = known(should, moment);
      const reported = known(is, moment);
      const what = different(right, reported).join(", ");
      if (what === "") continue;
      const row = right && outranking(right, reported, moment);
      differences.push({ payment: `${provider}:${first.payment}`, recorded_at: moment, what, row });
    }
  }
  const missing = differences.flatMap(({ row }) => row ?? []);
  if (repair) await insertBooked(clickhouse, "transactions", versionColumns, missing, "versions");
  const finding = findingOf(rows, "0", differences, ({ payment, recorded_at, what }) => {
    return { subject: payment, at: isoTime(recorded_at), what, amount: null };
  });
  return { ...finding, stored: stored.length };
}

function storedOf(
  clickhouse: ClickHouse,
  rows: readonly Row[],
  knownTo: number,
): Promise<Stored[]> {
  return clickhouse.rows<Stored>(
    `SELECT id, recorded_at, fact_id, version, ${documentColumns} FROM transactions
     WHERE ${matching(rows, "workspace", "environment", "timestamp", "id")}
       AND recorded_at <= '${clickhouseTime(knownTo)}'
     ORDER BY id, recorded_at, fact_id, version`,
  );
}

/** @param rows in the order of `recorded_at`, fact and version */
function known<R extends Stored>(rows: readonly R[], moment: string): R | null {
  return rows.findLast(({ recorded_at }) => recorded_at <= moment) ?? null;
}

function different(right: Row | null, reported: Stored | null): string[] {
  if (right === null && reported === null) return [];
  if (right === null) return ["unknown payment"];
  if (reported === null) return ["missing"];
  const [should, is] = [right, reported].map((row) => new Map(Object.entries(row)));
  return documentColumns
    .split(", ")
    .filter((name) => String(should?.get(name)) !== String(is?.get(name)));
}

function outranking(right: Row, reported: Stored | null, moment: string): Row {
  if (reported === null || reported.recorded_at < right.recorded_at) return right;
  const { fact_id, version } = reported;
  return { ...right, recorded_at: moment, fact_id, version: version + 1 };
}
