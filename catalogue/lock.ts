/** Who changes which SKUs belong to which products, one at a time among all processes. */
import type { Environment } from "../schemas/records/records.js";
import type { Postgres } from "../postgres/postgres.js";

/**
 * Two processes that name SKUs alike at once would both find no product of that slug and make one;
 * one that meets a SKU while another names it would make a product that nothing is sold under; and
 * of two people each would split off or remove what the other has just put together. For the rest
 * of the transaction: what was read before it may be old.
 */
export async function lockCatalogue(
  sql: Pick<Postgres, "query">,
  workspace: string,
  environment: Environment,
): Promise<void> {
  const matter = `products of ${workspace} ${environment}`;
  await sql.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [matter]);
}
