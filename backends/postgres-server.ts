/** A Postgres server, by URL. */
import { setTimeout as pause } from "node:timers/promises";
import {
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryResultRow,
  TypeOverrides,
  types,
} from "pg";
import { ConfigError, limits } from "../config.js";
import type { Logger } from "./logger.js";
import { isUnavailable, whyNotOpened } from "./postgres-errors.js";
import { type Postgres, PostgresUnavailable, type TransactionOptions } from "./postgres.js";
import { columns } from "./postgres-columns.js";

export interface ServerOrigin {
  readonly url: string;
  /** How long a server that does not answer is waited for: it may be starting, too. */
  readonly patienceMs?: number;
  /** How long one statement may take there, and how long its answer is waited for. */
  readonly statementMsMax?: number;
  readonly answerMsMax?: number;
}

/**
 * After a break the pool connects anew by itself, at the next query.
 * @throws ConfigError with a sentence for a person when the server does not let us in
 */
export async function openServer(origin: ServerOrigin, logger: Logger): Promise<Postgres> {
  const { url, patienceMs = limits.postgresPatienceMsMax } = origin;
  const pool = openPool(origin, logger);
  try {
    await whenAnswering(pool, patienceMs);
  } catch (error) {
    await pool.end();
    throw new ConfigError([`DATABASE_URL: ${whyNotOpened(error, new URL(url))}`]);
  }
  return {
    query: (sql, values = []) => rows(pool, sql, values),
    transaction: (run, options) => transaction(pool, logger, run, options),
    close: () => pool.end(),
  };
}

async function whenAnswering(pool: Pool, patienceMs: number): Promise<void> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      await pool.query("SELECT 1");
      return;
    } catch (error) {
      if (!isUnavailable(error) || Date.now() > until) throw error;
      await pause(lookEveryMs);
    }
  }
}

const lookEveryMs = 250;
const keepAliveAfterMs = 10_000;
/** The longest a timer takes, 24 days: the driver takes 0 for none given. */
const withoutEndMs = 2 ** 31 - 1;

function openPool(origin: ServerOrigin, logger: Logger): Pool {
  const {
    statementMsMax = limits.postgresStatementMsMax,
    answerMsMax = statementMsMax + limits.postgresConnectMsMax,
  } = origin;
  const options: PoolConfig = {
    connectionString: withLibpqMeaning(origin.url),
    application_name: "revenue-aggregation-service",
    max: limits.postgresConnectionsMax,
    connectionTimeoutMillis: limits.postgresConnectMsMax,
    statement_timeout: statementMsMax,
    lock_timeout: limits.postgresLockMsMax,
    idle_in_transaction_session_timeout: limits.postgresIdleInTransactionMsMax,
    // The server keeps its own time; this is for one that does not answer at all any more.
    query_timeout: answerMsMax,
    keepAlive: true,
    // Of a server that is gone an unhurried statement hears by this alone.
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    types: columnTypes(),
  };
  const pool = new Pool(options);
  // An idle connection that breaks is replaced at the next query; unheard it would end the process.
  pool.on("error", (error) => logger.warn({ err: error }, "an idle Postgres connection broke"));
  return pool;
}

/**
 * `sslmode` means what it means to psql and to every other client: the driver reads `require` as
 * `verify-full` today, warns, and will change.
 */
function withLibpqMeaning(url: string): string {
  const changed = new URL(url);
  if (changed.searchParams.has("sslmode")) changed.searchParams.set("uselibpqcompat", "true");
  return changed.href;
}

async function transaction<T>(
  pool: Pool,
  logger: Logger,
  run: (sql: Pick<Postgres, "query">) => Promise<T>,
  { isUnhurried = false }: TransactionOptions = {},
): Promise<T> {
  const client = await connect(pool);
  // Of a connection in use the pool hears nothing; the statement under way is told as well.
  const listen = (error: Error): void => logger.warn({ err: error }, "a Postgres connection broke");
  client.on("error", listen);
  let broken: Error | undefined;
  try {
    await rows(client, "BEGIN");
    if (isUnhurried) await rows(client, "SET LOCAL statement_timeout = 0");
    if (isUnhurried) await rows(client, "SET LOCAL lock_timeout = 0");
    const own = isUnhurried ? { query_timeout: withoutEndMs } : {};
    const result = await run({ query: (sql, values = []) => rows(client, sql, values, own) });
    await rows(client, "COMMIT");
    return result;
  } catch (error) {
    // A connection that cannot roll back is thrown away, and the server rolls back.
    if (error instanceof PostgresUnavailable) broken = error;
    else await client.query("ROLLBACK").catch((failed: Error) => (broken = failed));
    throw error;
  } finally {
    client.off("error", listen);
    client.release(broken);
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw told(error);
  }
}

async function rows<T>(
  on: Pool | PoolClient,
  sql: string,
  values: readonly unknown[] = [],
  own: { readonly query_timeout?: number } = {},
): Promise<T[]> {
  try {
    const asked = { text: sql, values: [...values], ...own };
    const result: { rows: T[] } = await on.query<QueryResultRow & T>(asked);
    return result.rows;
  } catch (error) {
    throw told(error);
  }
}

function told(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new PostgresUnavailable("Postgres does not answer", { cause: error });
}

function columnTypes(): TypeOverrides {
  const overrides = new TypeOverrides();
  overrides.setTypeParser(types.builtins.INT8, columns.int8);
  overrides.setTypeParser(types.builtins.DATE, columns.date);
  return overrides;
}
