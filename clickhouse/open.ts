/**
 * The columnar store adapter: one on `@clickhouse/client`, with two origins. Reads share a pool;
 * each write lane has a connection of its own.
 */
import { limits } from "../config.js";
import {
  type ClickHouse,
  type ClickHouseCluster,
  type ClickHouseNode,
  type WriteLane,
  writeLanes,
} from "./clickhouse.js";
import { connectCluster } from "./cluster/cluster.js";
import type { TableFiles } from "./table-files.js";
import { Pool } from "./pool.js";
import { connectServer } from "./server/server.js";
import { bind } from "./sql-text.js";
import type { Logger } from "../runtime/logger.js";

/** Connections of one origin; `close` also ends what lies behind them. */
export interface Connections {
  readonly isShared: boolean;
  readonly readers: readonly Reader[];
  readonly writers: Readonly<Record<WriteLane, Writer>>;
  readonly files: TableFiles;
  /** Of a cluster. */
  readonly shards?: { readonly nodes: readonly ClickHouseNode[] } & ClickHouseCluster;
  close(): Promise<void>;
}

/** Takes statements as they are, with their values in them. */
export interface Reader {
  rows<T>(sql: string): Promise<T[]>;
}
export interface Writer {
  readonly write: (sql: string) => Promise<void>;
}

export type ClickHouseOrigin = StatementLimits &
  (
    | { readonly path: string }
    | {
        readonly url: string;
        /** Its name, where the server is one of a cluster; and where its shards are. */
        readonly cluster?: string | undefined;
        readonly shardUrls?: readonly string[] | undefined;
        /** ms to wait at start for a server that does not answer; long enough when left out */
        readonly patienceMs?: number;
        /** Is reported that. */
        readonly logger?: Logger;
      }
  );

interface StatementLimits {
  readonly memoryBytes: number;
  readonly threads: number;
}

/**
 * @throws ConfigError when the server cannot be used; StoreBusy from `rows` and `write` when too
 * many statements wait; StoreUnavailable when the server cannot be reached; ClickHouseError when
 * the engine refuses a statement.
 */
export async function openClickHouse(origin: ClickHouseOrigin): Promise<ClickHouse> {
  const connections = await connect(origin);
  const readers = new Pool(connections.readers, limits.clickhouseWaitingMax);
  const lanes = Object.fromEntries(
    writeLanes.map((lane) => [
      lane,
      new Pool([connections.writers[lane]], limits.clickhouseWaitingMax),
    ]),
  );
  const one: Pick<ClickHouse, "rows" | "write"> = {
    rows: <T>(sql: string, params?: Parameters<typeof bind>[1]) =>
      readers.run((reader) => reader.rows<T>(bind(sql, params))),
    async write(sql, params, lane = "bookkeeping") {
      await lanes[lane]?.run((writer) => writer.write(bind(sql, params)));
    },
  };
  return {
    ...one,
    isShared: connections.isShared,
    files: connections.files,
    nodes: connections.shards?.nodes ?? [{ ...one, name: "clickhouse" }],
    cluster: connections.shards ?? null,
    close: () => connections.close(),
  };
}

/** The engine is loaded where it is used: an image for servers has none. */
async function connect(origin: ClickHouseOrigin): Promise<Connections> {
  if ("url" in origin) {
    return origin.cluster === undefined
      ? connectServer(origin)
      : connectCluster({ ...origin, cluster: origin.cluster });
  }
  const { connectEmbedded } = await import("./embedded.js");
  return connectEmbedded(origin);
}
