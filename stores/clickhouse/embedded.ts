/** The ClickHouse engine inside this process. A process can open one path. */
import assert from "node:assert";
import { mkdir } from "node:fs/promises";
import {
  type ClickHouseClient,
  type ClickHouseClientConfigOptions,
  createClient,
} from "@clickhouse/client";
import { Session, drainPending } from "chdb";
import { createChdbConnection } from "chdb/connection";
import { appendTo, wholeOf } from "./rows.js";
import { embeddedFiles } from "./table-files.js";
import { memoryOfStatement, statementSettings } from "./settings.js";
import { favourMainThread } from "../../runtime/thread-priority.js";
import type { Appender, ClickHouseOrigin, Connections, Reader, Writer } from "./connections.js";

/** A connection runs one query at a time; more readers would share the same cores. */
const readers = 4;
/** Two tables at a time, for two cores. */
const appenders = 2;
/** Batches are small, so more threads would cost more than they save. */
const writerThreads = 1;
const markCacheBytes = 128 * 1024 * 1024;

export async function connectEmbedded(
  origin: Extract<ClickHouseOrigin, { path: string }>,
): Promise<Connections> {
  await mkdir(origin.path, { recursive: true, mode: 0o700 });
  // The first connection starts the engine with its limits, and keeps it running.
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
      // The client's own reading makes a stream first, which costs 0.4 ms for every statement.
      async text(query) {
        const result = await client.query({ query, format: "JSONEachRow" });
        return result.text();
      },
      async write(query) {
        await client.command({ query });
      },
    };
  }
  async function connectAppender(): Promise<Appender> {
    const connection = await connect(writerThreads);
    return { append: (batch) => appendTo(connection, batch, wholeOf(batch)) };
  }
  async function close(): Promise<void> {
    await Promise.all(open.map((client) => client.close()));
    engine.close();
    // Closing a busy connection waits until its statement ends.
    await drainPending();
  }
  try {
    const connections: Connections = {
      isShared: false,
      readers: await Promise.all(Array.from({ length: readers }, () => connect(origin.threads))),
      writers: {
        facts: await connect(writerThreads),
        money: await connect(writerThreads),
        versions: await connect(writerThreads),
        // Thousands of accounts take long to read; a few are read by one thread anyway.
        subscriptions: await connect(origin.threads),
        bookkeeping: await connect(writerThreads),
      },
      appenders: await Promise.all(Array.from({ length: appenders }, connectAppender)),
      // On a connection of its own a large table delays nobody.
      files: embeddedFiles((await connect(origin.threads)).write),
      close,
    };
    // By now the engine's own threads exist, and those its statements run on.
    await favourMainThread();
    return connections;
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

const processSettings = {
  /** Nobody could read the engine's log of queries here. */
  log_queries: 0,
  /**
   * The engine would want a gibibyte free for each thread, and would otherwise use one. What a
   * statement may take is bounded below.
   */
  max_threads_min_free_memory_per_thread: "0",
} as const;

function assignments(origin: { memoryBytes: number }, threads: number): string {
  return Object.entries({
    ...statementSettings,
    ...processSettings,
    max_threads: threads,
    max_memory_usage: memoryOfStatement(origin.memoryBytes),
  })
    .map(([name, value]) => `${name} = ${typeof value === "string" ? `'${value}'` : value}`)
    .join(", ");
}
