/** Batches of 50 rows, the same for the same number. */
import type { ClickHouse, RowsBatch } from "../../stores/clickhouse/clickhouse.js";
import { tabSeparated } from "../../stores/clickhouse/rows.js";

export const rowsOfNumbered = 50;

const structure = "workspace String, pool String, fact_id String, at DateTime64(3, 'UTC')";

export function numberedBatch(number: number, mayBeThere: boolean): RowsBatch {
  const rows = Array.from({ length: rowsOfNumbered }, (_, index) => {
    return { workspace: "w", pool: index, fact_id: `${number}-${index}`, at: number };
  });
  const token = `batch-${number}`;
  return {
    table: "unidentified_sides",
    structure,
    rows: tabSeparated(structure, rows),
    token,
    mayBeThere,
  };
}

/** What there is of all batches; equal numbers when each is there once. */
export async function numberedRows(clickhouse: ClickHouse): Promise<NumberedRows> {
  const [row] = await clickhouse.rows<NumberedRows>(
    "SELECT count() AS total, uniqExact(fact_id) AS different FROM unidentified_sides",
  );
  return { total: Number(row?.total), different: Number(row?.different) };
}

interface NumberedRows {
  readonly total: number;
  readonly different: number;
}
