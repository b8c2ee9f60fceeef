/**
 * Whole tables to files and back, for backups: Native (the engine's own format, all types exact),
 * gzip. The embedded engine reads and writes files itself; a server's bytes come and go by HTTP.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { ClickHouseClient } from "@clickhouse/client";
import { literal } from "./sql-text.js";

export interface TableFiles {
  /** Writes all rows that the table has when this begins. */
  write(table: string, path: string): Promise<void>;
  /** Adds the rows of such a file. */
  read(table: string, path: string): Promise<void>;
}

export const tableFileEnding = ".native.gz";

/** Rows of one part: what an insert with projections holds in memory. */
const insertSettings = {
  min_insert_block_size_rows: "200000",
  min_insert_block_size_bytes: String(64 * 1024 * 1024),
} as const;
/** However large the table is. */
const endless = { max_execution_time: 0 } as const;
/**
 * Otherwise a failure in the middle would end an answer that began well. The server keeps the
 * answer until it is whole, and sends a header a minute meanwhile.
 */
const wholeAnswer = {
  wait_end_of_query: 1,
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: "60000",
} as const;
/** The disk is the bottleneck; a higher level makes files only a few percent smaller. */
const gzipLevel = 1;

/** @param write runs one statement */
export function embeddedFiles(write: (sql: string) => Promise<void>): TableFiles {
  const settings = Object.entries(insertSettings).map(([name, value]) => `${name} = ${value}`);
  return {
    write: (table, path) =>
      underPlainName(path, async (plain) => {
        const file = `file(${literal(plain)}, Native)`;
        await write(`INSERT INTO FUNCTION ${file} SELECT * FROM ${table}`);
      }),
    read: (table, path) =>
      underPlainName(path, async (plain) => {
        const file = `file(${literal(plain)}, Native)`;
        await write(`INSERT INTO ${table} SELECT * FROM ${file} SETTINGS ${settings.join(", ")}`);
      }),
  };
}

/** The engine reads a path with these as a pattern, and cannot escape them. */
const patternCharacters = /[*?{}[\]]/;

async function underPlainName(path: string, use: (plain: string) => Promise<void>): Promise<void> {
  if (!patternCharacters.test(path)) return use(path);
  const folder = await mkdtemp(join(tmpdir(), "revenue-"));
  try {
    const link = join(folder, "files");
    await symlink(resolve(dirname(path)), link);
    await use(join(link, basename(path)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

export function serverFiles(client: ClickHouseClient): TableFiles {
  return {
    async write(table, path) {
      const { stream } = await client.exec({
        query: `SELECT * FROM ${table} FORMAT Native`,
        clickhouse_settings: { ...endless, ...wholeAnswer, max_threads: 1 },
      });
      const file = createWriteStream(path, { flags: "wx" });
      await pipeline(stream, createGzip({ level: gzipLevel }), file);
    },
    async read(table, path) {
      const values = createReadStream(path).pipe(createGunzip());
      const { stream } = await client.exec({
        query: `INSERT INTO ${table} FORMAT Native`,
        values,
        clickhouse_settings: { ...endless, ...insertSettings },
      });
      stream.resume();
      await finished(stream);
    },
  };
}
