/** ClickHouse in a backup: one file for each table (table-files.ts). */
import { join } from "node:path";
import { tableFileEnding } from "../clickhouse/table-files.js";
import type { ClickHouse } from "../clickhouse/clickhouse.js";

/**
 * Every table but `migrations`. What follows from facts comes before the facts: a copied fact may
 * then lack what follows from it, as after a crash, but never the other way round.
 */
export const clickhouseTables = [
  "mrr_movements",
  "ledger",
  "transactions",
  "subscription_changes",
  "unidentified_sides",
  "money_facts",
  "rejects",
  "raw_events",
  "catalogue_skus",
] as const;
type ClickHouseTable = (typeof clickhouseTables)[number];

export function clickhouseFile(table: ClickHouseTable): string {
  return `clickhouse/${table}${tableFileEnding}`;
}

export async function writeRows(
  clickhouse: ClickHouse,
  folder: string,
  signal?: AbortSignal,
): Promise<void> {
  for (const table of clickhouseTables) {
    signal?.throwIfAborted();
    await clickhouse.files.write(table, join(folder, clickhouseFile(table)));
  }
}

export async function readRows(clickhouse: ClickHouse, folder: string): Promise<void> {
  for (const table of clickhouseTables) {
    await clickhouse.write(`TRUNCATE TABLE ${table}`);
    await clickhouse.files.read(table, join(folder, clickhouseFile(table)));
  }
}

export async function tablesWithRows(clickhouse: ClickHouse): Promise<string[]> {
  const found: string[] = [];
  for (const table of clickhouseTables) {
    if ((await clickhouse.rows(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0) found.push(table);
  }
  return found;
}
