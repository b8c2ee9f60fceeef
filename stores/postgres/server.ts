import {
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryResultRow,
  TypeOverrides,
  types,
} from "pg";
import { limits } from "../../config.js";
import type { Logger } from "../../runtime/logger.js";
import { isLasting, isUnavailable, TakesNoWrites, TooOld, whyNotOpened } from "./errors.js";
import {
  columns,
  type Postgres,
  type Sql,
  PostgresUnavailable,
  type TransactionOptions,
} from "./postgres.js";
import { whenAnswering } from "../../runtime/wait-for-server.js";

/** Connections of one process to a Postgres server, and the longest wait for one. */
export const postgresConnectionsMax = 10;
/** Of one statement on the server, its wait for a lock, and an idle transaction. */
const postgresStatementMsMax = 30_000;
const postgresLockMsMax = 10_000;
const postgresIdleInTransactionMsMax = 60_000;

export interface ServerOrigin {
  readonly url: string;
  /** How long it waits for a server that does not answer: it may be starting, too. */
  readonly patienceMs?: number;
  /** Ends that waiting. */
  readonly stopping?: AbortSignal | undefined;
  /** How long one statement may take on the server, and its answer. */
  readonly statementMsMax?: number;
  readonly answerMsMax?: number;
}

/**
 * After a break the pool reconnects at the next query.
 * @throws ConfigError with a sentence for a person when the server does not let us in
 */
export async function openServer(origin: ServerOrigin, logger: Logger): Promise<Postgres> {
  const { url, patienceMs: waitsMsMax = limits.startPatienceMsMax, stopping } = origin;
  const pool = openPool(origin, logger);
  try {
    await whenAnswering(
      () => checkUsable(pool, logger),
      (error) => judged(error, new URL(url)),
      { waitsMsMax, pauseMs: lookEveryMs, stopping },
      logger,
    );
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    query: (sql, values = []) => rows(pool, sql, values),
    transaction: (run, options) => transaction(pool, logger, run, options),
    close: () => pool.end(),
  };
}

function judged(error: unknown, url: URL) {
  const met = error instanceof PostgresUnavailable ? error.cause : error;
  const sentence = `DATABASE_URL: ${whyNotOpened(met, url)}`;
  return { sentence, mayPass: isUnavailable(met) && !isLasting(met) };
}

/** In a transaction, which not every pooler allows. A standby may become the primary. */
async function checkUsable(pool: Pool, logger: Logger): Promise<void> {
  const [server] = await transaction(pool, logger, (sql) =>
    sql.query<{ version: string; is_old: boolean; takes_writes: boolean }>(
      `SELECT current_setting('server_version') AS version,
         current_setting('server_version_num')::int4 < $1 AS is_old,
         current_setting('transaction_read_only') = 'off' AS takes_writes`,
      [oldestVersionNumber],
    ),
  );
  if (server?.is_old) throw new TooOld(server.version);
  if (server?.takes_writes === false) throw new TakesNoWrites();
}

const oldestVersionNumber = 150_000;
const lookEveryMs = 250;
const keepAliveAfterMs = 10_000;
/** The longest a timer takes, 24 days: the driver reads 0 as not set. */
const withoutEndMs = 2 ** 31 - 1;

function openPool(origin: ServerOrigin, logger: Logger): Pool {
  const {
    statementMsMax = postgresStatementMsMax,
    answerMsMax = statementMsMax + limits.postgresConnectMsMax,
  } = origin;
  const options: PoolConfig = {
    connectionString: withLibpqMeaning(origin.url),
    application_name: "revenue-aggregation-service",
    max: postgresConnectionsMax,
    connectionTimeoutMillis: limits.postgresConnectMsMax,
    statement_timeout: statementMsMax,
    lock_timeout: postgresLockMsMax,
    idle_in_transaction_session_timeout: postgresIdleInTransactionMsMax,
    // The server has its own limit; this is for one that does not answer at all.
    query_timeout: answerMsMax,
    keepAlive: true,
    // An unhurried statement notices a dead server by this alone.
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    types: columnTypes(),
  };
  const pool = new Pool(options);
  // An idle connection that breaks is replaced at the next query. Unhandled, its error would end
  // the process.
  pool.on("error", (error) => logger.warn({ err: error }, "an idle Postgres connection broke"));
  return pool;
}

/**
 * `sslmode` as psql and other clients read it: the driver reads `require` as `verify-full` today,
 * warns, and will change.
 */
function withLibpqMeaning(url: string): string {
  const changed = new URL(url);
  if (changed.searchParams.has("sslmode")) changed.searchParams.set("uselibpqcompat", "true");
  return changed.href;
}

async function transaction<T>(
  pool: Pool,
  logger: Logger,
  run: (sql: Sql) => Promise<T>,
  { isUnhurried = false }: TransactionOptions = {},
): Promise<T> {
  const client = await connect(pool);
  // The pool does not hear errors of a busy connection, but its statement fails, too.
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
    throw reported(error);
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
    throw reported(error);
  }
}

function reported(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new PostgresUnavailable("Postgres does not answer", { cause: error });
}

function columnTypes(): TypeOverrides {
  const overrides = new TypeOverrides();
  overrides.setTypeParser(types.builtins.INT8, columns.int8);
  overrides.setTypeParser(types.builtins.DATE, columns.date);
  return overrides;
}
