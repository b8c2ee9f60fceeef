/**
 * The columnar store adapter: one on `@clickhouse/client`, with two origins. Reads share a pool;
 * each write lane has a connection of its own.
 */
import { randomUUID } from "node:crypto";
import { type ClickHouseClient, ClickHouseError } from "@clickhouse/client";
import { limits } from "../config.js";
import { type ClickHouse, type WriteLane, writeLanes } from "./clickhouse.js";
import { connectEmbedded } from "./clickhouse-embedded.js";
import { Pool } from "./clickhouse-pool.js";
import { connectServer } from "./clickhouse-server.js";
import { bind } from "./clickhouse-text.js";

/** Connections of one origin; `close` also ends what lies behind them. */
export interface Connections {
  readonly readers: readonly ClickHouseClient[];
  readonly writers: Readonly<Record<WriteLane, ClickHouseClient>>;
  /** What `${durable}` stands for in the migrations. */
  readonly durableSettings: string;
  /** A statement whose answer was lost may still be running on a server; this ends it. */
  endStatement?(queryId: string): Promise<void>;
  close(): Promise<void>;
}

export type ClickHouseOrigin =
  | { readonly path: string; readonly memoryBytes: number; readonly threads: number }
  | { readonly url: string };

/** The store, and what the migrations have to know about its origin. */
export interface OpenClickHouse extends ClickHouse {
  readonly durableSettings: string;
}

/**
 * @throws StoreBusy from `rows` and `write` when too many statements wait; ClickHouseError when the
 * engine refuses a statement; anything else when it cannot be reached.
 */
export async function openClickHouse(origin: ClickHouseOrigin): Promise<OpenClickHouse> {
  const connections = "url" in origin ? connectServer(origin.url) : await connectEmbedded(origin);
  const readers = new Pool(connections.readers, limits.clickhouseWaitingMax);
  const lanes = Object.fromEntries(
    writeLanes.map((lane) => [
      lane,
      new Pool([new Lane(connections.writers[lane], connections)], limits.clickhouseWaitingMax),
    ]),
  );
  return {
    durableSettings: connections.durableSettings,
    rows: <T>(sql: string, params?: Parameters<typeof bind>[1]) =>
      readers.run(async (client) => {
        const result = await client.query({ query: bind(sql, params), format: "JSONEachRow" });
        return result.json<T>();
      }),
    async write(sql, params, lane = "bookkeeping") {
      await lanes[lane]?.run((writer) => writer.write(bind(sql, params)));
    },
    close: () => connections.close(),
  };
}

class Lane {
  /** Statements whose answer was lost: they end before the next begins, or lanes would overlap. */
  readonly #lost = new Set<string>();

  constructor(
    private readonly client: ClickHouseClient,
    private readonly connections: Connections,
  ) {}

  async write(statement: string): Promise<void> {
    for (const queryId of this.#lost) {
      await this.connections.endStatement?.(queryId);
      this.#lost.delete(queryId);
    }
    const queryId = randomUUID();
    try {
      await this.client.command({ query: statement, query_id: queryId });
    } catch (error) {
      if (!(error instanceof ClickHouseError)) this.#lost.add(queryId);
      throw error;
    }
  }
}
