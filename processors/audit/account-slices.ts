/**
 * The accounts of a tenant in slices of bounded size, in the order of the tables' primary keys, so
 * that memory stays level however large the tables are.
 */
import { allEnded } from "../../runtime/all-settled.js";
import { limits } from "../../config.js";
import type { Tenant } from "../../schemas/records/records.js";
import { literal } from "../../stores/clickhouse/sql-text.js";
import { chunksBySize } from "../../runtime/lists.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";

export const movementTables = ["subscription_changes", "mrr_movements"] as const;

/** Accounts after the first up to the second, inclusive; null: to the last. */
export interface AccountSlice extends Tenant {
  readonly after: string;
  readonly upTo: string | null;
}

/** Whole accounts, with about `rowsMax` changes and as many movements at the most. */
export async function* accountSlices(
  clickhouse: Pick<ClickHouse, "rows">,
  tenant: Tenant,
  rowsMax: number = limits.auditSliceRows,
): AsyncGenerator<AccountSlice> {
  let after: string | null = "";
  while (after !== null) {
    const rest: AccountSlice = { ...tenant, after, upTo: null };
    // Movements without changes are an error to be found, so they are counted too.
    const ends = await Promise.all(
      movementTables.map((table) =>
        clickhouse.rows<{ account: string }>(
          `SELECT account FROM ${table} WHERE ${inSlice(rest)}
           ORDER BY account LIMIT 1 OFFSET ${rowsMax}`,
        ),
      ),
    );
    const accounts = ends.flat().map(({ account }) => account);
    const upTo: string | null = accounts.sort()[0] ?? null;
    yield { ...rest, upTo };
    after = upTo;
  }
}

/**
 * Gives each worker the next item. When one fails, the others finish theirs, and then this rejects.
 */
export async function eachOf<Item, Worker>(
  items: AsyncGenerator<Item>,
  workers: readonly Worker[],
  work: (item: Item, worker: Worker) => Promise<void>,
): Promise<void> {
  await allEnded(
    workers.map(async (worker) => {
      // A loop that is left by an exception ends the items for all.
      for await (const item of items) await work(item, worker);
    }),
  );
}

/** SQL condition on `workspace`, `environment`, `account`. */
export function inSlice(slice: AccountSlice): string {
  const { after, upTo } = slice;
  const end = upTo === null ? "" : ` AND account <= ${literal(upTo)}`;
  return `${tenantSql(slice)} AND account > ${literal(after)}${end}`;
}

export function tenantSql({ workspace, environment }: Tenant): string {
  return `workspace = ${literal(workspace)} AND environment = ${literal(environment)}`;
}

/** A tenant, and how many movements are recorded of it. */
export interface SizedTenant extends Tenant {
  readonly movements: number;
}

/**
 * The same tenants in the same order, in groups that one statement covers, because planning a
 * statement costs the same for few rows. A large tenant is a group by itself.
 */
export async function tenantGroups(
  clickhouse: Pick<ClickHouse, "rows">,
  tenants: readonly Tenant[],
  rowsMax: number = limits.auditSliceRows,
): Promise<SizedTenant[][]> {
  const counts = movementTables.map(
    (table, index) =>
      `SELECT workspace, environment, count() AS rows, count() * ${index} AS movements
       FROM ${table} GROUP BY workspace, environment`,
  );
  const found = await clickhouse.rows<Tenant & { rows: string; movements: string }>(
    `SELECT workspace, environment, sum(rows) AS rows, sum(movements) AS movements
     FROM (${counts.join(" UNION ALL ")}) GROUP BY workspace, environment`,
  );
  const sizes = new Map(found.map((size) => [`${size.workspace} ${size.environment}`, size]));
  const sized = tenants.map((tenant) => {
    const size = sizes.get(`${tenant.workspace} ${tenant.environment}`);
    return { ...tenant, rows: Number(size?.rows ?? 0), movements: Number(size?.movements ?? 0) };
  });
  return [...chunksBySize(sized, rowsMax, ({ rows }) => Math.max(rows, rowsMax / tenantsMax))];
}

const tenantsMax = 200;

/** Every workspace and environment the table has rows of. */
export function tenantsOf(
  clickhouse: Pick<ClickHouse, "rows">,
  tables: readonly string[],
  workspace: string | null,
): Promise<Tenant[]> {
  const only = workspace === null ? "true" : `workspace = ${literal(workspace)}`;
  const each = tables.map(
    (table) => `SELECT DISTINCT workspace, environment FROM ${table} WHERE ${only}`,
  );
  return clickhouse.rows<Tenant>(
    `SELECT DISTINCT workspace, environment FROM (${each.join(" UNION ALL ")})
     ORDER BY workspace, environment`,
  );
}
