/**
 * Whether what is known of each transaction, as of every moment something was recorded about it,
 * is the document that follows from the facts known then. Not which rows are there: a row written
 * while less was known stays, and is outranked (`migrations/clickhouse/0001_schema.sql`).
 */
import { clickhouseTime, rowsIn } from "../../clickhouse/rows.js";
import { jsonRows } from "../../clickhouse/sql-text.js";
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { SliceFinding } from "../../audits/movements.js";
import { limits } from "../../config.js";
import { bookedNow } from "../../schemas/booked-at.js";
import { transactionId } from "../../schemas/ids.js";
import { isoTime, type PaymentSlice } from "./money.js";
import type { Version } from "../book/payment/payment-versions.js";

const fields = {
  account: "String",
  external_id: "String",
  gross_amount: "Int64",
  original_currency: "String",
  normalized_amount: "Int64",
  base_currency: "String",
  fx_rate: "String",
  fx_date: "String",
  fx_source: "String",
  refunded_amount: "Int64",
  tax_amount: "Nullable(Int64)",
  fee_amount: "Nullable(Int64)",
  customer_country: "String",
  type: "String",
  status: "String",
} as const;
const place = { timestamp: "DateTime64(3, 'UTC')", id: "String" } as const;
const rank = {
  recorded_at: "DateTime64(3, 'UTC')",
  fact_id: "String",
  version: "UInt32",
} as const;
const origin = {
  event_id: "String",
  provider: "String",
  payment: "String",
  backfill: "UInt8",
} as const;

type Cells<Names extends object> = Readonly<Record<keyof Names, string | number | null>>;
type Stored = Cells<typeof fields> & {
  readonly timestamp: string;
  readonly id: string;
  readonly recorded_at: string;
  readonly fact_id: string;
  readonly version: number;
};

/** A row to insert so that the right document outranks what is known as of `recorded_at`. */
export interface VersionDifference {
  readonly payment: string;
  readonly recorded_at: string;
  /** The fields that are not as they should be. */
  readonly what: string;
  /** Null where nothing should be known: that cannot be mended by adding. */
  readonly row: (Stored & Cells<typeof origin>) | null;
}

export interface VersionsShould {
  readonly payment: string;
  readonly versions: readonly Version[];
}

export async function versionDifferences(
  clickhouse: Pick<ClickHouse, "rows">,
  slice: PaymentSlice,
  payments: readonly VersionsShould[],
): Promise<{
  readonly rows: number;
  readonly differences: readonly VersionDifference[];
  /** How many rows were read for it. */
  readonly stored: number;
}> {
  const stored = await storedOf(clickhouse, slice, payments);
  let rows = 0;
  const differences: VersionDifference[] = [];
  for (const { payment, versions } of payments) {
    const should = versions.map((version) => rowOf(slice, payment, version));
    const is = stored.get(idOf(slice, payment)) ?? [];
    const moments = new Set([...should, ...is].map(({ recorded_at }) => recorded_at));
    for (const moment of [...moments].sort()) {
      rows += 1;
      const right = known(should, moment);
      const reported = known(is, moment);
      const what = different(right, reported);
      if (what.length === 0) continue;
      differences.push({
        payment: `${slice.provider}:${payment}`,
        recorded_at: moment,
        what: what.join(", "),
        row: right === null ? null : outranking(right, reported, moment),
      });
    }
  }
  const storedRows = [...stored.values()].reduce((sum, { length }) => sum + length, 0);
  return { rows, differences, stored: storedRows };
}

export function versionFinding(found: {
  readonly rows: number;
  readonly differences: readonly VersionDifference[];
}): SliceFinding {
  return {
    rows: found.rows,
    differences: found.differences.length,
    amount: "0",
    examples: found.differences.slice(0, limits.auditExamplesMax).map((difference) => ({
      subject: difference.payment,
      at: isoTime(difference.recorded_at),
      what: difference.what,
      amount: null,
    })),
  };
}

export async function insertVersionDifferences(
  clickhouse: ClickHouse,
  { workspace, environment }: PaymentSlice,
  differences: readonly VersionDifference[],
): Promise<void> {
  const rows = differences.flatMap(({ row }) =>
    row === null ? [] : [{ workspace, environment, ...row }],
  );
  if (rows.length === 0) return;
  const types = {
    workspace: "String",
    environment: "String",
    ...place,
    ...rank,
    ...origin,
    ...fields,
  };
  const columns = Object.keys(types).join(", ");
  const structure = Object.entries(types)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ");
  await clickhouse.write(
    `INSERT INTO transactions (${columns}, booked_at)
     SELECT ${columns}, ${bookedNow} FROM ${jsonRows(structure, rows)}`,
    {},
    "versions",
  );
}

async function storedOf(
  clickhouse: Pick<ClickHouse, "rows">,
  slice: PaymentSlice,
  payments: readonly VersionsShould[],
): Promise<Map<string, Stored[]>> {
  const { workspace, environment, knownTo } = slice;
  const places = payments.flatMap(({ payment, versions }) =>
    [...new Set(versions.map(({ document }) => clickhouseTime(document.timestamp)))].map((at) => [
      workspace,
      environment,
      at,
      idOf(slice, payment),
    ]),
  );
  const columns = Object.keys({ ...place, ...rank, ...fields }).join(", ");
  const rows = await clickhouse.rows<Stored>(
    `SELECT ${columns} FROM transactions
     WHERE ${rowsIn("(workspace, environment, timestamp, id)", places)}
       AND recorded_at <= '${clickhouseTime(knownTo)}'
     ORDER BY id, recorded_at, fact_id, version`,
  );
  const found = new Map<string, Stored[]>();
  for (const row of rows) {
    const all = found.get(row.id) ?? [];
    all.push(row);
    found.set(row.id, all);
  }
  return found;
}

/** @param rows in the order of `recorded_at`, fact and version */
function known<Row extends Stored>(rows: readonly Row[], moment: string): Row | null {
  return rows.findLast(({ recorded_at }) => recorded_at <= moment) ?? null;
}

function different(right: Stored | null, reported: Stored | null): string[] {
  if (right === null && reported === null) return [];
  if (right === null) return ["unknown payment"];
  if (reported === null) return ["missing"];
  return ["timestamp", ...Object.keys(fields)].filter((name) => {
    const value = (row: Stored) =>
      Object.entries(row).find(([column]) => column === name)?.[1] ?? null;
    return String(value(right)) !== String(value(reported));
  });
}

function outranking(
  right: Stored & Cells<typeof origin>,
  reported: Stored | null,
  moment: string,
): Stored & Cells<typeof origin> {
  if (reported === null || reported.recorded_at < right.recorded_at) return right;
  return {
    ...right,
    recorded_at: moment,
    fact_id: reported.fact_id,
    version: reported.version + 1,
  };
}

function rowOf(
  slice: PaymentSlice,
  payment: string,
  { document, version, fact }: Version,
): Stored & Cells<typeof origin> {
  return {
    account: document.account,
    external_id: document.external_id,
    gross_amount: document.gross_amount.toString(),
    original_currency: document.original_currency,
    normalized_amount: document.normalized_amount.toString(),
    base_currency: document.base_currency,
    fx_rate: document.fx_rate,
    fx_date: document.fx_date,
    fx_source: document.fx_source,
    refunded_amount: document.refunded_amount.toString(),
    tax_amount: document.tax_amount?.toString() ?? null,
    fee_amount: document.fee_amount?.toString() ?? null,
    customer_country: document.customer_country,
    type: document.type,
    status: document.status,
    timestamp: clickhouseTime(document.timestamp),
    id: idOf(slice, payment),
    recorded_at: clickhouseTime(fact.received_at),
    fact_id: fact.fact_id,
    version,
    event_id: fact.event_id,
    provider: slice.provider,
    payment,
    backfill: fact.backfill ? 1 : 0,
  };
}

function idOf({ workspace, environment, provider }: PaymentSlice, payment: string): string {
  return transactionId(workspace, environment, provider, payment);
}
