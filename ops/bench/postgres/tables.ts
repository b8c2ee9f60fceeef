/** The rows of an installation in Postgres, with the indexes an expert makes. */
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { createLogger } from "../../../runtime/logger.js";
import { openServer } from "../../../stores/postgres/server.js";
import { freePort } from "../../servers/kafka.js";
import { startPostgres } from "../../servers/postgres.js";
import { writeTables } from "../fill.js";

/** Plain columns; of each transaction the newest version, of amounts minor units. */
const tables = {
  payments: {
    columns:
      "workspace text, id text, happened_at timestamp, provider text, payment text, " +
      "account text, external_id text, amount bigint, currency text, base_amount bigint, " +
      "country text, type text, status text",
    select: `SELECT workspace, id, toDateTime(timestamp), provider, payment, account, external_id,
        gross_amount, original_currency, normalized_amount, customer_country, type, status
      FROM transactions WHERE workspace = {workspace:String} AND environment = 'live'
      ORDER BY id, timestamp, version DESC LIMIT 1 BY id, timestamp`,
  },
  ledger: {
    columns:
      "workspace text, happened_at timestamp, recorded_at timestamp, provider text, " +
      "external_id text, currency text, country text, kind text, amount bigint, tax bigint, " +
      "fee bigint, sales integer",
    select: `SELECT workspace, toDateTime(happened_at), toDateTime(recorded_at), provider,
        external_id, currency, country, kind, amount, tax, fee, sales
      FROM ledger WHERE workspace = {workspace:String} AND environment = 'live'`,
  },
  movements: {
    columns:
      "workspace text, account text, provider text, subscription text, external_id text, " +
      "currency text, country text, happened_at timestamp, recorded_at timestamp, kind text, " +
      "vintage date, mrr numeric(18, 6), accounts integer, subscriptions integer",
    select: `SELECT workspace, account, provider, subscription, external_id, currency, country,
        toDateTime(at), toDateTime(recorded_at), kind, vintage, CAST(mrr, 'Decimal(18, 6)'),
        accounts, subscriptions
      FROM mrr_movements WHERE workspace = {workspace:String} AND environment = 'live'`,
  },
} as const;

/** One for each question, with all it reads, so that no row of a table is fetched for a sum. */
const indexes = [
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
const settings = {
  shared_buffers: "2GB",
  work_mem: "256MB",
  maintenance_work_mem: "1GB",
  effective_cache_size: "8GB",
  random_page_cost: "1.1",
  max_wal_size: "8GB",
  max_parallel_workers_per_gather: "2",
};

/** An index over all rows takes its time. */
const patience = { statementMsMax: 30 * 60_000, answerMsMax: 30 * 60_000 };

export type Ask = (sql: string) => Promise<unknown>;

/** @param folder of the service, which is not running; the server's files are put beside its own */
export async function withPostgres<T>(
  folder: string,
  workspace: string,
  use: (ask: Ask, url: string) => Promise<T>,
): Promise<T> {
  const named = Object.entries(tables);
  const fileOf = (name: string): string => join(folder, `${name}.csv`);
  const exports = named.map(([name, { select }]) => ({
    lane: "bookkeeping" as const,
    sql: `INSERT INTO FUNCTION file('${fileOf(name)}', CSV) ${select} ${withoutLimit}`,
    params: { workspace },
  }));
  await writeTables(join(folder, "clickhouse"), exports);
  // Its server runs as another user, who has to reach its folder.
  await chmod(folder, 0o711);
  const port = await freePort();
  const server = await startPostgres({ folder: join(folder, "postgres-server"), port, settings });
  const postgres = await openServer({ url: server.url, ...patience }, createLogger("warn"));
  try {
    const ask: Ask = (sql) => postgres.query(sql);
    for (const [name, { columns }] of named) {
      await ask(`CREATE TABLE ${name} (${columns})`);
      await ask(`COPY ${name} FROM '${fileOf(name)}' (FORMAT csv)`);
    }
    for (const index of indexes) await ask(`CREATE INDEX ON ${index}`);
    // Index-only scans need to know which pages hold no old rows.
    for (const [name] of named) await ask(`VACUUM ANALYZE ${name}`);
    return await use(ask, server.url);
  } finally {
    await postgres.close();
    await server.stop();
  }
}

const withoutLimit = "SETTINGS max_execution_time = 0";
