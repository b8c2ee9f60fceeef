/**
 * Opens the columnar store. Reads share a pool; each write lane has a connection of its own, and
 * batches that are appended have several.
 */
import { type ClickHouse, StoreBusy, byLane } from "./clickhouse.js";
import { connectCluster } from "./cluster/cluster.js";
import { connectServer } from "./server/server.js";
import { parsedRows } from "./rows.js";
import { bind } from "./sql-text.js";
import type { ClickHouseOrigin, Connections } from "./connections.js";

/** Statements that may wait for a connection; the next is refused (StoreBusy). */
const clickhouseWaitingMax = 1_000;

/**
 * @throws ConfigError when the server cannot be used; StoreBusy when too many statements
 * wait; StoreUnavailable when the server cannot be reached; ClickHouseError when
 * the engine refuses a statement.
 */
export async function openClickHouse(origin: ClickHouseOrigin): Promise<ClickHouse> {
  const connections = await connect(origin);
  const readers = new Pool(connections.readers, clickhouseWaitingMax);
  const lanes = byLane((lane) => new Pool([connections.writers[lane]], clickhouseWaitingMax));
  const appenders = new Pool(connections.appenders, clickhouseWaitingMax);
  const text: ClickHouse["text"] = (sql, params) =>
    readers.run((reader) => reader.text(bind(sql, params)));
  const one: Pick<ClickHouse, "rows" | "write"> = {
    rows: async <T>(sql: string, params?: Parameters<typeof bind>[1]) =>
      parsedRows<T>(await text(sql, params)),
    async write(sql, params, lane = "bookkeeping") {
      await lanes[lane].run((writer) => writer.write(bind(sql, params)));
    },
  };
  return {
    ...one,
    text,
    append: (batch) => appenders.run((appender) => appender.append(batch)),
    isShared: connections.isShared,
    files: connections.files,
    nodes: connections.shards?.nodes ?? [{ ...one, name: "clickhouse" }],
    cluster: connections.shards ?? null,
    close: () => connections.close(),
  };
}

/** Loaded on use, because an image for servers lacks the engine. */
async function connect(origin: ClickHouseOrigin): Promise<Connections> {
  if ("url" in origin) {
    return origin.cluster === undefined
      ? connectServer(origin)
      : connectCluster({ ...origin, cluster: origin.cluster });
  }
  const { connectEmbedded } = await import("./embedded.js");
  return connectEmbedded(origin);
}

/** Connections that run one statement at a time, given out in the order of requests. */
export class Pool<Connection> {
  readonly #idle: Connection[];
  readonly #waiting: ((connection: Connection) => void)[] = [];

  constructor(
    connections: readonly Connection[],
    private readonly waitingMax: number,
  ) {
    this.#idle = [...connections];
  }

  /** @throws StoreBusy when `waitingMax` others wait already. */
  async run<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = this.#idle.pop() ?? (await this.#wait());
    try {
      return await use(connection);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(connection);
      else this.#idle.push(connection);
    }
  }

  #wait(): Promise<Connection> {
    if (this.#waiting.length >= this.waitingMax) throw new StoreBusy();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
