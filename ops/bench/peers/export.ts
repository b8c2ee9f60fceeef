/**
 * Writes the rows of an installation that is not running to files, in the plain columns its peers
 * get: of each transaction the newest version, of amounts minor units.
 */
import { rename } from "node:fs/promises";
import { openTables } from "../fill.js";
import { report, withChild } from "../processes.js";
import { fileOf, tables } from "./stores.js";

export function exportTables(clickhouse: string, workspace: string, files: string): Promise<void> {
  return withChild("peers-export", [clickhouse, workspace, files], () => undefined);
}

const where = "WHERE workspace = {workspace:String} AND environment = 'live'";
const seconds = (column: string) => `toDateTime(${column}) AS ${column}`;

const selects: Readonly<Record<(typeof tables)[number], string>> = {
  payments: `SELECT workspace, id, toDateTime(timestamp) AS happened_at, provider, payment, account,
      external_id, gross_amount AS amount, original_currency AS currency,
      normalized_amount AS base_amount, customer_country AS country, type, status
    FROM transactions ${where}
    ORDER BY id, timestamp, version DESC LIMIT 1 BY id, timestamp`,
  ledger: `SELECT workspace, ${seconds("happened_at")}, ${seconds("recorded_at")}, provider,
      external_id, currency, country, kind, amount, tax, fee, sales FROM ledger ${where}`,
  movements: `SELECT workspace, account, provider, subscription, external_id, currency, country,
      toDateTime(at) AS happened_at, ${seconds("recorded_at")}, kind, vintage,
      CAST(mrr, 'Decimal(18, 6)') AS mrr, accounts, subscriptions FROM mrr_movements ${where}`,
};

/** Runs as a child. */
export async function run([
  path = "",
  workspace = "",
  files = "",
]: readonly string[]): Promise<void> {
  const clickhouse = await openTables(path);
  for (const table of tables) {
    for (const format of ["csv", "parquet"] as const) {
      const file = fileOf(files, table, format);
      const sql = `INSERT INTO FUNCTION file('${file}.part', ${formats[format]}) ${selects[table]}`;
      await clickhouse.write(`${sql} ${settings}`, { workspace });
      await rename(`${file}.part`, file);
    }
  }
  await clickhouse.close();
  report({});
  process.disconnect();
}

const formats = { csv: "CSV", parquet: "Parquet" } as const;
/** Types by their plain names, which every reader of Parquet knows. */
const settings =
  "SETTINGS output_format_parquet_string_as_string = 1, max_execution_time = 0, " +
  "low_cardinality_allow_in_native_format = 0";
