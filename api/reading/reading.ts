/** What every read route does: look at the clocks first, then run its queries. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { unprocessable } from "../../schemas/http/errors.js";
import type { Access } from "../../workspaces/keys.js";
import type { Service } from "../../service.js";
import type { Figures } from "../../stores/watermark/watermark.js";
import type { AsOf, Clocks } from "./as-of.js";
import { type Query, tenantSql } from "./query.js";

/**
 * Before any table is read: the tables then hold at least what `completeTo` promises.
 * @param figures what the answer reports: money alone is complete sooner than MRR
 */
export async function clocksOf(
  service: Pick<Service, "clickhouse" | "watermark">,
  { workspace, environment }: Pick<Access, "workspace" | "environment">,
  figures: Figures = "all",
): Promise<Clocks> {
  const completeTo = await service.watermark.completeTo(figures, workspace);
  const now = Date.now();
  const newest = environment === "test" ? await newestMoment(service, workspace) : now;
  return { completeTo, now, reach: Math.max(now, newest) };
}

/** ms since 1970, of what happened in the test environment; 0 where nothing did. */
async function newestMoment(
  service: Pick<Service, "clickhouse">,
  workspace: string,
): Promise<number> {
  const columns = { transactions: "timestamp", ledger: "happened_at", subscription_changes: "at" };
  const newest = Object.entries(columns).map(
    ([table, column]) => `SELECT max(${column}) AS newest FROM ${table} WHERE ${tenantSql}`,
  );
  const sql = `SELECT toUnixTimestamp64Milli(max(newest)) AS newest_ms
FROM (${newest.join(" UNION ALL ")})`;
  const params = { workspace, environment: "test" };
  const [row] = await rowsOf<{ readonly newest_ms: string }>(service, { sql, params });
  return Number(row?.newest_ms ?? 0);
}

/** As a query gives it, ms since 1970. */
export interface Range {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** @throws ApiError 422: swapped, `from` and `to` would look like a time without anything */
export function checkRange({ from, to }: Range): void {
  if (from !== undefined && to !== undefined && from > to) {
    throw unprocessable("range_backwards", "from must not lie after to.", "from");
  }
}

export function completeText(clocks: Pick<Clocks, "completeTo">): string {
  return new Date(clocks.completeTo).toISOString();
}

export function rowsOf<Row>(
  { clickhouse }: { readonly clickhouse: Pick<ClickHouse, "rows"> },
  { sql, params }: Query,
): Promise<Row[]> {
  return clickhouse.rows<Row>(sql, params);
}

/** The same as text, for who may read it in another thread (`parsedRows`). */
export function textOf(
  { clickhouse }: { readonly clickhouse: Pick<ClickHouse, "text"> },
  { sql, params }: Query,
): Promise<string> {
  return clickhouse.text(sql, params);
}

/** When the first row of each happened: before it a series has nothing to show. */
const timeColumns = {
  mrr_movements: "at",
  ledger: "happened_at",
  subscription_changes: "at",
} as const;

/** @returns ms since 1970; null where there is none */
export async function firstRowOf(
  service: Pick<Service, "clickhouse">,
  table: keyof typeof timeColumns,
  { workspace, environment }: AsOf,
): Promise<number | null> {
  const sql = `SELECT toUnixTimestamp64Milli(min(${timeColumns[table]})) AS first_ms FROM ${table}
WHERE ${tenantSql} HAVING count() > 0`;
  const params = { workspace, environment };
  const [first] = await rowsOf<{ readonly first_ms: string }>(service, { sql, params });
  return first === undefined ? null : Number(first.first_ms);
}
