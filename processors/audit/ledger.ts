/** What the ledger should be minus what it is, by slices of payments, and the rows that mend it. */
import { clickhouseTime } from "../../clickhouse/rows.js";
import { jsonRows } from "../../clickhouse/sql-text.js";
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import { isoTime, ledgerIn, type PaymentSlice } from "./money.js";
import type { SliceFinding } from "../../audits/movements.js";
import { limits } from "../../config.js";
import { bookedNow } from "../../schemas/booked-at.js";
import type { LedgerRow } from "../book/payment/payment-versions.js";

/** What reports rows of one workspace and environment apart; times as ClickHouse writes them. */
const dimensions = [
  "payment",
  "entry",
  "kind",
  "provider",
  "external_id",
  "currency",
  "country",
  "happened_at",
  "recorded_at",
  "event_id",
  "fact_id",
] as const;
const measures = ["original_amount", "amount", "tax", "fee", "sales"] as const;

type Dimensions = Readonly<Record<(typeof dimensions)[number], string>>;
/** Minor units; `sales` a number of them. */
type Measures = Readonly<Record<(typeof measures)[number], bigint>>;
/** A row to insert: the difference itself. */
export type LedgerDifference = Dimensions & Measures;

export interface LedgerShould {
  readonly payment: string;
  readonly ledger: readonly LedgerRow[];
}

/** Reads the stored rows of the slice. @returns also how many sets of dimensions were compared */
export async function ledgerDifferences(
  clickhouse: Pick<ClickHouse, "rows">,
  slice: PaymentSlice,
  payments: readonly LedgerShould[],
): Promise<{ readonly rows: number; readonly differences: readonly LedgerDifference[] }> {
  const sums = measures.map((name) => `toString(sum(${name})) AS ${name}_sum`);
  const stored = await clickhouse.rows<Dimensions & Readonly<Record<string, string>>>(
    `SELECT ${dimensions.join(", ")}, ${sums.join(", ")} FROM ledger
     WHERE ${ledgerIn(slice)} GROUP BY ${dimensions.join(", ")}`,
  );
  const differences = new Map<string, LedgerDifference>();
  const add = (row: LedgerDifference, sign: bigint): void => {
    const key = JSON.stringify(dimensions.map((name) => row[name]));
    const before = differences.get(key);
    const sum = (name: keyof Measures) => (before?.[name] ?? 0n) + sign * row[name];
    differences.set(key, {
      ...row,
      original_amount: sum("original_amount"),
      amount: sum("amount"),
      tax: sum("tax"),
      fee: sum("fee"),
      sales: sum("sales"),
    });
  };
  for (const { payment, ledger } of payments) {
    for (const row of ledger) add(rowOf(slice.provider, payment, row), 1n);
  }
  for (const row of stored) {
    const is = (name: keyof Measures) => BigInt(row[`${name}_sum`] ?? 0);
    add(
      {
        ...row,
        original_amount: is("original_amount"),
        amount: is("amount"),
        tax: is("tax"),
        fee: is("fee"),
        sales: is("sales"),
      },
      -1n,
    );
  }
  return {
    rows: differences.size,
    differences: [...differences.values()].filter((row) =>
      measures.some((name) => row[name] !== 0n),
    ),
  };
}

export function ledgerFinding(found: {
  readonly rows: number;
  readonly differences: readonly LedgerDifference[];
}): SliceFinding {
  const { rows, differences } = found;
  return {
    rows,
    differences: differences.length,
    amount: differences.reduce((sum, { amount }) => sum + amount, 0n).toString(),
    examples: differences.slice(0, limits.auditExamplesMax).map((row) => ({
      subject: row.payment,
      at: isoTime(row.happened_at),
      what: row.entry,
      amount: row.amount.toString(),
    })),
  };
}

/** Only while nothing books: a difference worked out here and there would be added twice. */
export async function insertLedgerDifferences(
  clickhouse: ClickHouse,
  { workspace, environment }: PaymentSlice,
  differences: readonly LedgerDifference[],
): Promise<void> {
  if (differences.length === 0) return;
  const columns = ["workspace", "environment", ...dimensions, ...measures];
  const rows = differences.map((row) => ({
    workspace,
    environment,
    ...Object.fromEntries([...dimensions, ...measures].map((name) => [name, row[name]])),
  }));
  await clickhouse.write(
    `INSERT INTO ledger (${columns.join(", ")}, booked_at)
     SELECT ${columns.join(", ")}, ${bookedNow} FROM ${jsonRows(structure, rows)}`,
    {},
    "money",
  );
}

const structure = [
  ...["workspace", "environment", ...dimensions].map((name) =>
    name.endsWith("_at") ? `${name} DateTime64(3, 'UTC')` : `${name} String`,
  ),
  ...measures.map((name) => `${name} ${name === "sales" ? "Int32" : "Int64"}`),
].join(", ");

function rowOf(provider: string, payment: string, row: LedgerRow): LedgerDifference {
  return {
    payment: `${provider}:${payment}`,
    provider,
    entry: row.entry,
    kind: row.kind,
    external_id: row.external_id,
    currency: row.currency,
    country: row.country,
    happened_at: clickhouseTime(row.happened_at),
    recorded_at: clickhouseTime(row.fact.received_at),
    event_id: row.fact.event_id,
    fact_id: row.fact.fact_id,
    original_amount: row.original_amount,
    amount: row.amount,
    tax: row.tax,
    fee: row.fee,
    sales: BigInt(row.sales),
  };
}
