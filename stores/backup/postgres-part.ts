/**
 * Postgres in a backup: one file for each table, a row a line, as Postgres itself writes a row as
 * JSON and reads it back. Values never pass through JavaScript, so every type comes back exactly.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import { createGunzip, createGzip } from "node:zlib";
import type { Postgres, Sql } from "../postgres/postgres.js";

/** Every table but `migrations`, each after those it refers to. */
export const postgresTables = [
  "workspaces",
  "api_keys",
  "integrations",
  "products",
  "skus",
  "product_merges",
  "ingest_receipts",
  "rate_editions",
  "rate_quotes",
  "sealed_secrets",
  "kept_objects",
  "kept_answers",
  "customers",
  "backfills",
  "backfill_lines",
  "reconciliations",
  "store_reports",
  "report_fetches",
  "audits",
  "integration_calls",
  "credential_replays",
  "users",
  "identities",
  "passkeys",
  "memberships",
  "invitations",
  "activity",
  "saved_views",
  "chat_channels",
  "alerts",
  "alert_firings",
  "alert_messages",
  "annotations",
  "segments",
  "segment_revisions",
  "goals",
  "digests",
  "webhook_endpoints",
  "webhook_deliveries",
  "proofs",
] as const;
type PostgresTable = (typeof postgresTables)[number];

/** These say what is on the log, so they are copied before the log's ends are read. */
export const readAheadTables: readonly PostgresTable[] = ["backfills", "integration_calls"];

const rowsAtOnce = 1_000;
/** Of one statement of a restore; an answer may have megabytes. */
const lengthAtOnce = 4 * 1024 * 1024;
const compression = { level: 1 };

export function postgresFile(table: PostgresTable): string {
  return `postgres/${table}.jsonl.gz`;
}

/** All tables as of one moment. */
export async function writeTables(
  postgres: Postgres,
  folder: string,
  tables: readonly PostgresTable[],
): Promise<void> {
  await postgres.transaction(async (sql) => {
    await sql.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    for (const table of tables) {
      const file = createWriteStream(join(folder, postgresFile(table)), { flags: "wx" });
      await pipeline(Readable.from(linesOf(sql, table)), createGzip(compression), file);
    }
  });
}

/** Replaces all rows, in the given transaction. */
export async function readTables(sql: Sql, folder: string): Promise<void> {
  // A backup has neither sessions nor assistants; they end with the members they belong to.
  await sql.query(`TRUNCATE ${postgresTables.join(", ")}, sessions, assistants`);
  for (const table of postgresTables) {
    const file = createReadStream(join(folder, postgresFile(table)));
    await pipeline(file, createGunzip(), async (bytes: AsyncIterable<Buffer>) => {
      for await (const rows of rowsIn(bytes)) {
        await sql.query(
          `INSERT INTO ${table} SELECT changed.*
           FROM json_populate_recordset(NULL::${table}, $1::json) AS written,
             json_populate_record(written, $2::json) AS changed`,
          [`[${rows.join(",")}]`, JSON.stringify(changes[table] ?? {})],
        );
      }
    });
  }
}

/**
 * Values that a restore changes. A claim that was marked durable may be of an event after the end
 * of the copied log, so a repeat must be appended again, and booking ignores it (idempotency.ts).
 * Changed while inserting, because receipts are kept for ever, and one statement over all of them
 * would take too long.
 */
const changes: Partial<Record<PostgresTable, Readonly<Record<string, unknown>>>> = {
  ingest_receipts: { durable: false },
};

/**
 * A line ends with LF only. Since Node 24 `node:readline` also ends one at U+2028 and U+2029, which
 * names of products may hold.
 */
export async function* rowsIn(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const decoder = new StringDecoder("utf8");
  let [rows, length, begun]: [string[], number, string] = [[], 0, ""];
  for await (const chunk of bytes) {
    const lines = (begun + decoder.write(chunk)).split("\n");
    begun = lines.pop() ?? "";
    rows.push(...lines);
    length += chunk.length;
    if (rows.length === 0 || (rows.length < rowsAtOnce && length < lengthAtOnce)) continue;
    yield rows;
    [rows, length] = [[], 0];
  }
  if (rows.length > 0) yield rows;
}

async function* linesOf(sql: Sql, table: PostgresTable): AsyncGenerator<string> {
  await sql.query(
    `DECLARE backup_rows NO SCROLL CURSOR FOR SELECT row_to_json(t)::text AS line FROM ${table} t`,
  );
  for (;;) {
    const rows = await sql.query<{ line: string }>(`FETCH ${rowsAtOnce} FROM backup_rows`);
    if (rows.length === 0) break;
    yield rows.map(({ line }) => `${line}\n`).join("");
  }
  await sql.query("CLOSE backup_rows");
}
