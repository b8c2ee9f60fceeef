/** A ClickHouse server, by URL: one pool of connections for reads and all write lanes. */
import { setTimeout as pause } from "node:timers/promises";
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from "@clickhouse/client";
import { ConfigError, limits } from "../../../config.js";
import { byLane, StoreUnavailable, type WriteLane, writeLanes } from "../clickhouse.js";
import { appendTo, wholeOf, parsedRows } from "../rows.js";
import { isRefusal } from "../errors.js";
import { ServerLane } from "../write-lane.js";
import { serverFiles } from "../table-files.js";
import { memoryOfStatement, statementSettings } from "../settings.js";
import { whenUsable } from "./start-checks.js";
import type { Appender, Connections, Reader, ServerOrigin, Writer } from "../connections.js";

/**
 * Of one statement on the server. Its answer may take longer, so that the server can say why it
 * ended the statement.
 */
const clickhouseStatementSecondsMax = 290;
const clickhouseAnswerMsMax = 300_000;
/**
 * A batch of rows is appended in well under a second. A connection that the network dropped
 * silently would otherwise hold up all later rows for `clickhouseAnswerMsMax`. A batch that takes
 * longer than this is looked for, and found or sent again.
 */
const appendAnswerMsMax = 15_000;
const slowBytesPerMs = 64;

/**
 * Well before a server closes an idle connection (10 s by default): one that it closes just as it
 * is used again fails with ECONNRESET.
 */
const idleConnectionMsMax = 2_500;
/** Tries of a read whose connection broke, and the pause before each, doubling. */
const readAttemptsMax = 3;
const readPauseMs = 100;
/** Batches that are appended at once; each table waits for itself at most. */
export const appendersMax = 4;

/** @throws ConfigError when the server cannot be used, with the reason */
export async function connectServer(origin: ServerOrigin): Promise<Connections> {
  const { url, database } = await whenUsable(origin);
  const client = serverClient(url, database, origin);
  try {
    await refuseCluster(client, database);
  } catch (error) {
    await client.close();
    throw error;
  }
  const reader = { text: (sql: string) => textOf(client, sql) };
  const engine = appending(client);
  const appender: Appender = { append: (batch) => appendTo(engine, batch, wholeOf(batch)) };
  return {
    isShared: true,
    readers: Array.from({ length: limits.clickhouseReadersMax }, () => reader),
    writers: serverLanes(client, database),
    appenders: Array.from({ length: appendersMax }, () => appender),
    files: serverFiles(client),
    close: () => client.close(),
  };
}

/**
 * A pool of connections to this database.
 * @param settings of all of them, beside the usual ones
 */
export function serverClient(
  url: URL,
  database: string,
  { memoryBytes, threads }: Pick<ServerOrigin, "memoryBytes" | "threads">,
  settings: ClickHouseSettings = {},
): ClickHouseClient {
  return createClient({
    url,
    database,
    application: "revenue-aggregation-service",
    max_open_connections: limits.clickhouseReadersMax + writeLanes.length + appendersMax,
    request_timeout: clickhouseAnswerMsMax,
    keep_alive: {
      enabled: true,
      idle_socket_ttl: idleConnectionMsMax,
      // Timers come late in a busy process, so the age is checked when a connection is taken.
      eagerly_destroy_stale_sockets: true,
    },
    // Statements carry their rows in the body; nothing long is part of the URL.
    compression: { request: { codec: "gzip", level: 1 }, response: true },
    clickhouse_settings: {
      ...statementSettings,
      ...settings,
      max_threads: threads,
      max_memory_usage: String(memoryOfStatement(memoryBytes)),
      max_execution_time: clickhouseStatementSecondsMax,
      cancel_http_readonly_queries_on_client_close: 1,
    },
    // It would print whole statements; what matters is thrown.
    log: { level: ClickHouseLogLevel.OFF },
  });
}

export function serverLanes(
  client: ClickHouseClient,
  database: string,
): Readonly<Record<WriteLane, Writer>> {
  return byLane((lane) => new ServerLane(client, `${database}/${lane}`));
}

/** Statements that may overlap, so that they need no lane. */
export function appending(
  client: ClickHouseClient,
  answerMsMax = appendAnswerMsMax,
): Reader & Writer {
  return {
    text: (sql) => textOf(client, sql, answerMsMax),
    async write(sql) {
      try {
        await client.command({
          query: sql,
          abort_signal: AbortSignal.timeout(answerMsMax + Math.ceil(sql.length / slowBytesPerMs)),
          // Without it, a statement that fails after the first byte of its answer looks successful.
          clickhouse_settings: { wait_end_of_query: 1 },
        });
      } catch (error) {
        throw isRefusal(error) ? error : new StoreUnavailable({ cause: error });
      }
    },
  };
}

/** A server of a cluster would write to all shards without a lock. */
async function refuseCluster(client: ClickHouseClient, database: string): Promise<void> {
  const found = await rowsOf(
    client,
    "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed'",
  );
  if (found.length === 0) return;
  throw new ConfigError([
    `CLICKHOUSE_CLUSTER: must be set, the tables of the database ${database} are a cluster's`,
  ]);
}

export async function rowsOf<T>(client: ClickHouseClient, sql: string): Promise<T[]> {
  return parsedRows<T>(await textOf(client, sql));
}

/**
 * A read may be repeated.
 * @param answerMsMax of each try; default: as long as the server works on it
 * @returns JSON, a row a line
 */
export async function textOf(
  client: ClickHouseClient,
  sql: string,
  answerMsMax?: number,
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const result = await client.query({
        query: sql,
        format: "JSONEachRow",
        ...(answerMsMax !== undefined && { abort_signal: AbortSignal.timeout(answerMsMax) }),
      });
      const lines: string[] = [];
      // Only as a stream does the client find an error of the server that comes after the first
      // rows.
      for await (const rows of result.stream()) for (const row of rows) lines.push(row.text);
      return lines.join("\n");
    } catch (error) {
      if (isRefusal(error)) throw error;
      if (attempt >= readAttemptsMax) throw new StoreUnavailable({ cause: error });
      await pause(readPauseMs * 2 ** (attempt - 1));
    }
  }
}
