/** A Postgres server, by URL. */
import { Pool, type PoolClient, type QueryResultRow, TypeOverrides, types } from "pg";
import type { Logger } from "./logger.js";
import type { Postgres } from "./postgres.js";
import { columns } from "./postgres-columns.js";

const connectionsMax = 10;
const connectMsMax = 10_000;

/** @throws when the server does not answer or does not let us in */
export async function openServer(url: string, logger: Logger): Promise<Postgres> {
  const pool = new Pool({
    connectionString: url,
    application_name: "revenue-aggregation-service",
    max: connectionsMax,
    connectionTimeoutMillis: connectMsMax,
    types: columnTypes(),
  });
  // An idle connection that breaks is replaced at the next query; unheard it would end the process.
  pool.on("error", (error) => logger.warn({ err: error }, "an idle Postgres connection broke"));
  try {
    await pool.query("SELECT 1");
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    query: (sql, values = []) => rows(pool, sql, values),
    async transaction(run) {
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        await client.query("BEGIN");
        const result = await run({ query: (sql, values = []) => rows(client, sql, values) });
        await client.query("COMMIT");
        return result;
      } catch (error) {
        // A connection that cannot roll back is thrown away, and the server rolls back.
        await client.query("ROLLBACK").catch((failed: Error) => (broken = failed));
        throw error;
      } finally {
        client.release(broken);
      }
    },
    close: () => pool.end(),
  };
}

async function rows<T>(
  on: Pool | PoolClient,
  sql: string,
  values: readonly unknown[],
): Promise<T[]> {
  const result: { rows: T[] } = await on.query<QueryResultRow & T>(sql, [...values]);
  return result.rows;
}

function columnTypes(): TypeOverrides {
  const overrides = new TypeOverrides();
  overrides.setTypeParser(types.builtins.INT8, columns.int8);
  overrides.setTypeParser(types.builtins.DATE, columns.date);
  return overrides;
}
