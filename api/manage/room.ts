/** A limit for lists that one page shows whole. */
import { conflict } from "../../schemas/http/errors.js";
import type { Sql } from "../../stores/postgres/postgres.js";

/**
 * Simultaneous writers wait for each other.
 * @param condition of the rows that count
 * @throws ApiError 409 when there are so many already
 */
export async function requireRoom(
  sql: Sql,
  table: "alerts" | "annotations" | "goals" | "proofs" | "segments" | "webhook_endpoints",
  workspace: string,
  rowsMax: number,
  condition = "true",
): Promise<void> {
  await sql.query("SELECT 1 FROM workspaces WHERE id = $1 FOR NO KEY UPDATE", [workspace]);
  const count = `SELECT count(*)::int AS rows FROM ${table} WHERE workspace = $1 AND ${condition}`;
  const [found] = await sql.query<{ readonly rows: number }>(count, [workspace]);
  if ((found?.rows ?? 0) < rowsMax) return;
  const things = table.replace("_", " ");
  const message = `A workspace has up to ${rowsMax} ${things}: remove some that nobody needs.`;
  throw conflict(`${table}_full`, message);
}
