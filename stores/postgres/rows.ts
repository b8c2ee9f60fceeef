/** Writing one row, and durably, into any table of the metadata store. */
import type { Postgres, Sql } from "./postgres.js";

/** @param row values by column; the names are ours */
export async function insertRow(
  sql: Sql,
  table: string,
  row: Readonly<Record<string, unknown>>,
): Promise<void> {
  await sql.query(insertSql(table, row), Object.values(row));
}

/** @returns false when a row with one of its keys exists */
export async function insertIfNew(
  sql: Sql,
  table: string,
  row: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const insert = `${insertSql(table, row)} ON CONFLICT DO NOTHING RETURNING 1 AS made`;
  return (await sql.query(insert, Object.values(row))).length === 1;
}

/**
 * @param where the row's id, or values of the columns that name it, none of them null
 * @returns false when there is no such row
 */
export async function updateRow(
  sql: Sql,
  table: string,
  where: string | Readonly<Record<string, unknown>>,
  changes: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const values: unknown[] = [];
  const equal = (columns: object): string[] =>
    Object.entries(columns).map(([column, value]) => `${column} = $${values.push(value)}`);
  const sets = equal(changes).join(", ");
  const names = equal(typeof where === "string" ? { id: where } : where).join(" AND ");
  const update = `UPDATE ${table} SET ${sets} WHERE ${names} RETURNING 1 AS made`;
  return (await sql.query(update, values)).length > 0;
}

function insertSql(table: string, row: object): string {
  const columns = Object.keys(row);
  const places = columns.map((_, index) => `$${index + 1}`);
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places.join(", ")})`;
}

/** One statement whose writes survive a power cut, also on the embedded engine. */
export function durably<T>(
  postgres: Postgres,
  sql: string,
  values: readonly unknown[],
): Promise<T[]> {
  return postgres.transaction((transaction) => transaction.query<T>(sql, values));
}
