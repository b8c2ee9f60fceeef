/** What every read route does: look at the clocks first, then run its queries. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import { unprocessable } from "../../http/errors.js";
import type { Access } from "../../workspaces/keys.js";
import type { Service } from "../../runtime/service.js";
import type { Figures } from "../../watermark/watermark.js";
import type { AsOf, Clocks } from "./as-of.js";
import { type Query, tenantSql } from "./query.js";

/**
 * Before any table is read: the tables then hold at least what `completeTo` promises.
 * @param figures what the answer reports: money alone is complete sooner than MRR
 */
export async function clocksOf(
  service: Pick<Service, "watermark">,
  { workspace }: Pick<Access, "workspace">,
  figures: Figures = "all",
): Promise<Clocks> {
  return { completeTo: await service.watermark.completeTo(figures, workspace), now: Date.now() };
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

/** When the first row of each happened: before it a series has nothing to show. */
const timeColumns = { mrr_movements: "at", ledger: "happened_at" } as const;

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
