/** The ClickHouse engine inside this process. It opens one path per process. */
import assert from "node:assert";
import { mkdir } from "node:fs/promises";
import {
  type ClickHouseClient,
  type ClickHouseClientConfigOptions,
  createClient,
} from "@clickhouse/client";
import { Session, drainPending } from "chdb";
import { createChdbConnection } from "chdb/connection";
import { embeddedFiles } from "./clickhouse-files.js";
import type { ClickHouseOrigin, Connections, Reader, Writer } from "./clickhouse-open.js";
import { memoryOfStatement, statementSettings } from "./clickhouse-settings.js";

/** A connection runs one query at a time; more readers than this only share the same cores. */
const readers = 4;
/** Batches are small: more threads would cost more than they do. */
const writerThreads = 1;
const markCacheBytes = 128 * 1024 * 1024;

export async function connectEmbedded(
  origin: Extract<ClickHouseOrigin, { path: string }>,
): Promise<Connections> {
  await mkdir(origin.path, { recursive: true, mode: 0o700 });
  // The first connection brings the engine up with its limits and keeps it up.
  const engine = new Session(origin.path, {
    connectionArgs: [
      `--max_server_memory_usage=${origin.memoryBytes}`,
      `--mark_cache_size=${markCacheBytes}`,
      "--background_pool_size=2",
    ],
  });
  const open: ClickHouseClient[] = [];
  async function connect(threads: number): Promise<Reader & Writer> {
    const connection: unknown = createChdbConnection({ path: origin.path });
    assert(isConnection(connection));
    const client = createClient({ connection });
    open.push(client);
    await client.command({ query: `SET ${assignments(origin, threads)}` });
    return {
      async rows<T>(query: string) {
        const result = await client.query({ query, format: "JSONEachRow" });
        return result.json<T>();
      },
      async write(query) {
        await client.command({ query });
      },
    };
  }
  async function close(): Promise<void> {
    await Promise.all(open.map((client) => client.close()));
    engine.close();
    // Closing a connection in use is put off until its statement ends.
    await drainPending();
  }
  try {
    return {
      isShared: false,
      readers: await Promise.all(Array.from({ length: readers }, () => connect(origin.threads))),
      writers: {
        facts: await connect(writerThreads),
        money: await connect(writerThreads),
        versions: await connect(writerThreads),
        subscriptions: await connect(writerThreads),
        bookkeeping: await connect(writerThreads),
      },
      // A connection of its own: a large table keeps nobody waiting.
      files: embeddedFiles((await connect(origin.threads)).write),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** chdb is typed against another copy of the client's types, equal but for private fields. */
type Connection = NonNullable<ClickHouseClientConfigOptions["connection"]>;
function isConnection(value: unknown): value is Connection {
  return typeof value === "object" && value !== null && "query" in value && "command" in value;
}

/**
 * What the engine does around each statement and a small one cannot afford: threads to parse a few
 * rows, statistics of tiny parts, profiles nobody reads. Measured: an insert of 30 rows took 15 ms
 * of processor time with the defaults and 5 ms so.
 */
const smallStatementSettings = {
  // Threads that read ahead cost a buffer for each stretch of each column: to look up 1,000 accounts
  // among 6 million rows took 2.2 s and 250 MB with them, and 0.4 s and under 100 MB without.
  local_filesystem_read_method: "pread",
  input_format_parallel_parsing: 0,
  optimize_on_insert: 0,
  materialize_statistics_on_insert: 0,
  log_queries: 0,
  log_profile_events: 0,
  query_profiler_real_time_period_ns: 0,
  query_profiler_cpu_time_period_ns: 0,
} as const;

function assignments(origin: { memoryBytes: number }, threads: number): string {
  return Object.entries({
    ...statementSettings,
    ...smallStatementSettings,
    max_threads: threads,
    max_memory_usage: memoryOfStatement(origin.memoryBytes),
  })
    .map(([name, value]) => `${name} = ${typeof value === "string" ? `'${value}'` : value}`)
    .join(", ");
}
