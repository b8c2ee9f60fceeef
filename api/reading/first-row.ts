/** When the first row of a workspace happened: before it a series has nothing to show. */
import type { Service } from "../../runtime/service.js";
import type { AsOf } from "./as-of.js";
import { type Query, tenantSql } from "./query.js";
import { rowsOf } from "./reading.js";

const columns = { mrr_movements: "at", ledger: "happened_at" } as const;

interface FirstRow {
  /** ms since 1970, as text */
  readonly first_ms: string;
}

/** @returns ms since 1970; null where there is none */
export async function firstRowOf(
  service: Pick<Service, "clickhouse">,
  table: keyof typeof columns,
  asOf: AsOf,
): Promise<number | null> {
  const [first] = await rowsOf<FirstRow>(service, firstRowQuery(table, asOf));
  return first === undefined ? null : Number(first.first_ms);
}

function firstRowQuery(table: keyof typeof columns, asOf: AsOf): Query {
  return {
    sql: `SELECT toUnixTimestamp64Milli(min(${columns[table]})) AS first_ms FROM ${table}
WHERE ${tenantSql} HAVING count() > 0`,
    params: { workspace: asOf.workspace, environment: asOf.environment },
  };
}
