/**
 * Checks that each transaction, as of every moment something was recorded about it, is the document
 * that follows from the facts known then. A row that was written while less was known may stay,
 * because it is outranked (`migrations/clickhouse`).
 */
import { clickhouseTime, matching } from "../../stores/clickhouse/rows.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { findingOf, type SliceFinding } from "./movements.js";
import { grouped } from "../../runtime/grouped.js";
import { isoTime, type PaymentSlice } from "./money.js";
import {
  insertBooked,
  type PaymentName,
  versionColumns,
  versionRows,
} from "../book/money/money-tables.js";
import type { Version } from "../book/payment/payment-versions.js";

const documentColumns =
  "timestamp, account, external_id, gross_amount, original_currency, normalized_amount, " +
  "base_currency, fx_rate, fx_date, fx_source, refunded_amount, tax_amount, fee_amount, " +
  "customer_country, type, status";

type Row = ReturnType<typeof versionRows>[number];
type Stored = Pick<Row, "id" | "recorded_at" | "fact_id" | "version">;

interface Difference {
  readonly payment: string;
  readonly recorded_at: string;
  readonly what: string;
  /**
   * The row that outranks the wrong one; null where nothing should be known, which no row can mend.
   */
  readonly row: Row | null;
}

/** @returns also how many rows were read for it */
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
  const differences: Difference[] = [];
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
