/**
 * What people would use instead, with the same rows: Postgres with the indexes an expert makes,
 * DuckDB, and ClickHouse with plain tables. Each takes the rows its own fastest way.
 */
import { execFile } from "node:child_process";
import { chmod, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { openServer } from "../../../stores/postgres/server.js";
import { createLogger } from "../../../runtime/logger.js";
import { startPostgres } from "../../servers/postgres.js";
import { freePort } from "../../servers/kafka.js";
import { openTables } from "../fill.js";

/** A store that is asked by SQL. */
export interface Peer {
  readonly name: string;
  rows(sql: string): Promise<readonly unknown[]>;
}

export const tables = ["payments", "ledger", "movements"] as const;
type Table = (typeof tables)[number];

/** The files `export.ts` writes. */
export function fileOf(folder: string, table: Table, format: "csv" | "parquet"): string {
  return join(folder, `${table}.${format}`);
}

const run = promisify(execFile);
const threads = 2;

const columns: Readonly<Record<Table, string>> = {
  payments:
    "workspace text, id text, happened_at timestamp, provider text, payment text, account text, " +
    "external_id text, amount bigint, currency text, base_amount bigint, country text, " +
    "type text, status text",
  ledger:
    "workspace text, happened_at timestamp, recorded_at timestamp, provider text, " +
    "external_id text, currency text, country text, kind text, amount bigint, tax bigint, " +
    "fee bigint, sales integer",
  movements:
    "workspace text, account text, provider text, subscription text, external_id text, " +
    "currency text, country text, happened_at timestamp, recorded_at timestamp, kind text, " +
    "vintage date, mrr numeric(18, 6), accounts integer, subscriptions integer",
};

/** One for each question, with all it reads, so that no row of a table is fetched for a sum. */
const postgresIndexes = [
  "payments (workspace, happened_at DESC, id DESC)",
  "payments (workspace, country, happened_at DESC, id DESC)",
  "payments (workspace, provider, happened_at DESC, id DESC)",
  "payments (workspace, status, happened_at DESC, id DESC)",
  "ledger (workspace, provider, external_id) INCLUDE (amount, sales)",
  "ledger (workspace, happened_at) INCLUDE (country, amount)",
  "movements (workspace, happened_at) INCLUDE (provider, kind, mrr, accounts, recorded_at)",
  "movements (workspace, vintage, happened_at) INCLUDE (kind, mrr)",
  "movements (workspace, provider, external_id) INCLUDE (mrr, subscriptions)",
];

/** What an expert sets first on a machine of this size. */
const postgresSettings = {
  shared_buffers: "2GB",
  work_mem: "256MB",
  maintenance_work_mem: "1GB",
  effective_cache_size: "8GB",
  random_page_cost: "1.1",
  max_wal_size: "8GB",
  max_parallel_workers_per_gather: String(threads),
};

export async function withPostgres<T>(
  folder: string,
  use: (peer: Peer, url: string) => Promise<T>,
): Promise<T> {
  // Its server runs as another user, who has to reach its folder.
  await chmod(folder, 0o711);
  const server = await startPostgres({
    folder: join(folder, "postgres"),
    port: await freePort(),
    settings: postgresSettings,
  });
  const postgres = await openServer({ url: server.url, ...patience }, createLogger("warn"));
  try {
    const rows = (sql: string) => postgres.query(sql);
    return await use({ name: "Postgres", rows }, server.url);
  } finally {
    await postgres.close();
    await server.stop();
  }
}

/** An index over all rows takes its time. */
const patience = { statementMsMax: 30 * 60_000, answerMsMax: 30 * 60_000 };

/** @param files a folder that the server's user may read */
export async function fillPostgres(peer: Peer, files: string): Promise<void> {
  for (const table of tables) {
    await peer.rows(`CREATE TABLE ${table} (${columns[table]})`);
    await peer.rows(`COPY ${table} FROM '${fileOf(files, table, "csv")}' (FORMAT csv)`);
  }
  for (const index of postgresIndexes) await peer.rows(`CREATE INDEX ON ${index}`);
  // Index-only scans need to know which pages hold no old rows.
  for (const table of tables) await peer.rows(`VACUUM ANALYZE ${table}`);
}

/** Installed when the benchmark is run: `npm ci` need not bring 60 MB for it to everybody. */
const duckdbPackage = "@duckdb/node-api@1.5.6-r.1";

/** What is used of the package. */
interface DuckdbConnection {
  run(sql: string): Promise<unknown>;
  runAndReadAll(sql: string): Promise<{ getRows(): readonly unknown[] }>;
  closeSync(): void;
}

export async function withDuckdb<T>(folder: string, use: (peer: Peer) => Promise<T>): Promise<T> {
  const installed = join(folder, "duckdb");
  await mkdir(installed);
  await run("npm", ["install", "--no-save", "--prefix", installed, duckdbPackage]);
  const loaded: {
    readonly DuckDBInstance: {
      create(path: string): Promise<{ connect(): Promise<DuckdbConnection> }>;
    };
  } = createRequire(join(installed, "package.json"))("@duckdb/node-api");
  const instance = await loaded.DuckDBInstance.create(join(folder, "peer.duckdb"));
  const connection = await instance.connect();
  try {
    await connection.run(`SET threads = ${threads}`);
    for (const table of tables) {
      const file = fileOf(folder, table, "parquet");
      // In the order of time, by which it can leave blocks out.
      await connection.run(
        `CREATE TABLE ${table} AS SELECT * FROM read_parquet('${file}') ORDER BY happened_at`,
      );
    }
    return await use({
      name: "DuckDB",
      rows: async (sql) => (await connection.runAndReadAll(sql)).getRows(),
    });
  } finally {
    connection.closeSync();
  }
}

/** The same engine as this service's, in the same process, without its projections and codecs. */
export async function withPlainClickHouse<T>(
  folder: string,
  use: (peer: Peer) => Promise<T>,
): Promise<T> {
  const clickhouse = await openTables(join(folder, "plain-clickhouse"));
  try {
    for (const table of tables) {
      const order = table === "payments" ? "workspace, happened_at, id" : "workspace, happened_at";
      await clickhouse.write(
        `CREATE TABLE ${table} ENGINE = MergeTree ORDER BY (${order})
         AS SELECT * FROM file('${fileOf(folder, table, "parquet")}', Parquet)
         SETTINGS schema_inference_make_columns_nullable = 0`,
      );
      await clickhouse.write(`OPTIMIZE TABLE ${table} FINAL`);
    }
    return await use({ name: "ClickHouse, plain", rows: (sql) => clickhouse.rows(sql) });
  } finally {
    await clickhouse.close();
  }
}
