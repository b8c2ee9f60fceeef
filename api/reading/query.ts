/** A query is a value: SQL text and what is bound to its placeholders. Nothing here does IO. */
import type { AsOf } from "./as-of.js";
import type { QueryParam } from "../../stores/clickhouse/sql-text.js";

export interface Query {
  readonly sql: string;
  readonly params: Readonly<Record<string, QueryParam>>;
}

/** Conditions and moments in terms of `asOfParams`. */
export const tenantSql = "workspace = {workspace:String} AND environment = {environment:String}";
export const atSql = momentSql("at");
export const knownAtSql = momentSql("known_at");
/** 00:00 of the first day of a series or a period. */
export const fromSql = momentSql("from");

/** @param name of a parameter, ms since 1970 */
export function momentSql(name: string): string {
  return `fromUnixTimestamp64Milli({${name}:Int64}, 'UTC')`;
}

/** @param conditions false, or empty: not asked for */
export function allOf(...conditions: readonly (string | false)[]): string {
  return conditions.filter((condition) => condition !== false && condition !== "").join(" AND ");
}

/**
 * Every part of a query sees one state of each table. Sums are often *all of it, minus some of it,
 * plus other rows*, which is right only if nothing is inserted between the parts. Implicit
 * projections only answer `count`, `min` and `max`; to find that out costs each part some planning.
 */
export const sumSettingsSql =
  "SETTINGS enable_shared_storage_snapshot_in_query = 1, optimize_use_implicit_projections = 0";

/**
 * The engine otherwise works out for each projection of the table whether it would do, and what of
 * the condition to look at first, though of sums nothing is left out by it.
 */
export function projectionSettingSql(name: string): string {
  return `SETTINGS preferred_optimize_projection_name = '${name}', optimize_move_to_prewhere = 0`;
}

export function asOfParams({ workspace, environment, at, knownAt }: AsOf): Query["params"] {
  const known = { known_at: knownAt, accounts_known_at: knownAt ?? timeMax };
  return given({ workspace, environment, at, ...known });
}

/** The engine's times reach no further. */
const timeMax = Date.UTC(2299, 0, 1);

/** Those that have a value. */
export function given(
  params: Readonly<Record<string, QueryParam | null | undefined>>,
): Query["params"] {
  const found: Record<string, QueryParam> = {};
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null) found[name] = value;
  }
  return found;
}
