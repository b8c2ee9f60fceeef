/** What is written to many tables of the metadata store alike. */
import type { Postgres } from "./postgres.js";

/** @param row values by column; the names are ours */
export async function insertRow(
  sql: Pick<Postgres, "query">,
  table: string,
  row: Readonly<Record<string, unknown>>,
): Promise<void> {
  const columns = Object.keys(row);
  const places = columns.map((_, index) => `$${index + 1}`);
  await sql.query(
    `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places.join(", ")})`,
    Object.values(row),
  );
}

/** One statement; on the embedded engine, too, what it wrote survives the loss of power. */
export function durably<T>(
  postgres: Postgres,
  sql: string,
  values: readonly unknown[],
): Promise<T[]> {
  return postgres.transaction((transaction) => transaction.query<T>(sql, values));
}
