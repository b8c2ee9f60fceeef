/**
 * The columnar store port. One adapter on `@clickhouse/client` with two origins: the engine inside
 * this process (`chdb`) or a server (`CLICKHOUSE_URL`).
 */

import type { TableFiles } from "./table-files.js";
import type { QueryParam } from "./sql-text.js";

export interface ClickHouse {
  /**
   * Others may write to these tables, or a statement of ours may run later than its answer was
   * waited for. False inside this process.
   */
  readonly isShared: boolean;
  /**
   * Runs a SELECT on a read connection. 64-bit integers and decimals come as strings with all
   * their digits, DateTime64 as `YYYY-MM-DD hh:mm:ss.SSS` (UTC).
   */
  rows<T>(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<T[]>;
  /** The same rows as text, for who reads it in another thread: `parsedRows` makes rows of it. */
  text(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<string>;
  /**
   * Runs one statement that writes; statements of one `lane` run one after the other. It may have
   * run when this rejects with StoreUnavailable.
   */
  write(
    sql: string,
    params?: Readonly<Record<string, QueryParam>>,
    lane?: WriteLane,
  ): Promise<void>;
  /**
   * Appends rows, all of them at once; on a cluster, those of each shard at once. Repeated with the
   * same token it changes nothing, also beside itself, from another process, or after the end of
   * either side. Some of it may be there when this rejects: the same batch is right again, then as
   * one that may be there. Batches wait for no write lane.
   */
  append(batch: RowsBatch): Promise<void>;
  /** Whole tables to files and back. */
  readonly files: TableFiles;
  /** What the tables lie on: one engine, or the shards of a cluster. Each is migrated by itself. */
  readonly nodes: readonly ClickHouseNode[];
  /** Null: one engine. */
  readonly cluster: ClickHouseCluster | null;
  close(): Promise<void>;
}

export interface RowsBatch {
  readonly table: string;
  /** `name Type, …` of the rows, as in CREATE TABLE; what says where a row lies is among them. */
  readonly structure: string;
  /** One row or more, as written by `tabSeparated`. */
  readonly rows: string;
  /** Unique among all batches ever appended to the table; contains no `/`. */
  readonly token: string;
  /**
   * Somebody may have sent it before, so that it is looked for. False for a batch that was never
   * sent; and for rows of a ReplacingMergeTree, which may be gone and harm nobody twice.
   */
  readonly mayBeThere: boolean;
}

/** One of the servers that hold rows; its statements are about its own. */
export interface ClickHouseNode {
  /** As `/readyz` names it. */
  readonly name: string;
  rows<T>(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<T[]>;
  /** In the lane for bookkeeping. */
  write(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<void>;
}

export interface ClickHouseCluster {
  /**
   * Before migrations: writes down which shard each node is.
   * @throws ConfigError when it was another one before: its rows belong to another database
   */
  claimShardIdentities(): Promise<void>;
  /** After migrations: what stands for the tables of all shards has their columns. */
  joinTables(): Promise<void>;
  /** Rejects while the servers do not reach each other, or when the shards have changed. */
  check(): Promise<void>;
}

/** Writes of one lane never overlap, whichever process sends them; lanes run side by side. */
export const writeLanes = ["facts", "money", "versions", "subscriptions", "bookkeeping"] as const;
export type WriteLane = (typeof writeLanes)[number];

export function byLane<T>(make: (lane: WriteLane) => T): Readonly<Record<WriteLane, T>> {
  return {
    facts: make("facts"),
    money: make("money"),
    versions: make("versions"),
    subscriptions: make("subscriptions"),
    bookkeeping: make("bookkeeping"),
  };
}

/** More statements wait for a connection than `limits` allows; the caller may try again later. */
export class StoreBusy extends Error {
  override readonly name = "StoreBusy";
  constructor() {
    super("The columnar store has too many statements waiting.");
  }
}

/** The server cannot be reached, or its answer was lost; the caller may try again later. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
  constructor(options?: ErrorOptions) {
    super("The columnar store cannot be reached.", options);
  }
}
