/** One process at a time changes which SKUs belong to which products. */
import type { Environment } from "../../schemas/records/records.js";
import { News } from "../../runtime/lookout.js";
import type { Sql } from "../../stores/postgres/postgres.js";

export const catalogueNews = new News();

/**
 * Two processes that name equal SKUs at once would each make a product of that slug; one that meets
 * a SKU while another names it would make an empty product; and two people could undo each other's
 * merges. The lock lasts for the rest of the transaction; what was read before it may be old. The
 * new revision becomes visible with the change.
 */
export async function lockCatalogue(
  sql: Sql,
  workspace: string,
  environment: Environment,
): Promise<void> {
  await sql.query(
    `INSERT INTO catalogue_revisions AS c (name, revision) VALUES ($1, 1)
     ON CONFLICT (name) DO UPDATE SET revision = c.revision + 1`,
    [catalogueName(workspace, environment)],
  );
}

export function catalogueName(workspace: string, environment: Environment): string {
  return `${workspace} ${environment}`;
}

/** By name; a catalogue that never changed has none. */
export async function readRevisions(
  sql: Sql,
  names: readonly string[],
): Promise<Map<string, bigint>> {
  const rows = await sql.query<{ name: string; revision: bigint }>(
    "SELECT name, revision FROM catalogue_revisions WHERE name = ANY ($1::text[])",
    [names],
  );
  return new Map(rows.map(({ name, revision }) => [name, revision]));
}
