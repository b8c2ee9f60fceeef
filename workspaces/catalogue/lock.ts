/** Who changes which SKUs belong to which products, one at a time among all processes. */
import type { Environment } from "../../schemas/records/records.js";
import { News } from "../../runtime/lookout.js";
import type { Postgres } from "../../stores/postgres/postgres.js";

/** A catalogue was changed in this process. */
export const catalogueNews = new News();

/**
 * Two processes that name SKUs alike at once would both find no product of that slug and make one;
 * one that meets a SKU while another names it would make a product that nothing is sold under; and
 * of two people each would split off or remove what the other has just put together. For the rest
 * of the transaction: what was read before it may be old. Its new revision is seen with the change.
 */
export async function lockCatalogue(
  sql: Pick<Postgres, "query">,
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

/** By name; those that were never changed have none. */
export async function readRevisions(
  sql: Pick<Postgres, "query">,
  names: readonly string[],
): Promise<Map<string, bigint>> {
  const rows = await sql.query<{ name: string; revision: bigint }>(
    "SELECT name, revision FROM catalogue_revisions WHERE name = ANY ($1::text[])",
    [names],
  );
  return new Map(rows.map(({ name, revision }) => [name, revision]));
}
