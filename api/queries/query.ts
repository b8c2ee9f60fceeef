/** A query is a value: SQL text and what is bound to its placeholders. Nothing here does IO. */
import type { QueryParam } from "../../backends/clickhouse.js";
import type { AsOf } from "../as-of.js";

export interface Query {
  readonly sql: string;
  readonly params: Readonly<Record<string, QueryParam>>;
}

/** Conditions and moments in terms of `asOfParams`. */
export const tenantSql = "workspace = {workspace:String} AND environment = {environment:String}";
export const atSql = "fromUnixTimestamp64Milli({at:Int64}, 'UTC')";
export const knownAtSql = "fromUnixTimestamp64Milli({known_at:Int64}, 'UTC')";

/**
 * Every part of a query sees one state of each table. Sums are often *all of it, minus some of it,
 * plus other rows*, which is right only if nothing is inserted between the parts.
 */
export const oneSnapshotSql = "SETTINGS enable_shared_storage_snapshot_in_query = 1";

export function asOfParams(asOf: AsOf): Record<string, QueryParam> {
  return {
    workspace: asOf.workspace,
    environment: asOf.environment,
    at: asOf.at,
    ...(asOf.knownAt === null ? {} : { known_at: asOf.knownAt }),
  };
}
