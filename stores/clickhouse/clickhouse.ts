/**
 * The port of the columnar store. One adapter on `@clickhouse/client` with two origins: the engine
 * inside this process (`chdb`) or a server (`CLICKHOUSE_URL`).
 */

import type { TableFiles } from "./table-files.js";
import type { QueryParam } from "./sql-text.js";

export interface ClickHouse {
  /**
   * Others may write to these tables, or a statement may run after its answer was given up. False
   * inside this process.
   */
  readonly isShared: boolean;
  /**
   * Runs a SELECT on a read connection. 64-bit integers and decimals come as strings with all
   * their digits, DateTime64 as `YYYY-MM-DD hh:mm:ss.SSS` (UTC).
   */
  rows<T>(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<T[]>;
  /** The same rows as text, to be parsed in another thread (`parsedRows`). */
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
   * Appends all rows at once; on a cluster, those of each shard at once. With the same token it
   * changes nothing again, whichever process repeats it. When it rejects, some rows may be there:
   * the batch is then repeated as one that may be there. Batches wait for no write lane.
   */
  append(batch: RowsBatch): Promise<void>;
  readonly files: TableFiles;
  /** One engine, or the shards of a cluster, each migrated by itself. */
  readonly nodes: readonly ClickHouseNode[];
  /** Null: one engine. */
  readonly cluster: ClickHouseCluster | null;
  close(): Promise<void>;
}

export interface RowsBatch {
  readonly table: string;
  /** `name Type, …` as in CREATE TABLE, with the columns that decide where a row lies. */
  readonly structure: string;
  /** One row or more, as written by `tabSeparated`. */
  readonly rows: string;
  /** Unique among all batches ever appended to the table; contains no `/`. */
  readonly token: string;
  /**
   * It may have been sent before, so it is looked for. False for a new batch, and for rows of a
   * ReplacingMergeTree, which may be gone and do no harm twice.
   */
  readonly mayBeThere: boolean;
}

/** One of the servers that hold rows; statements concern its own rows. */
export interface ClickHouseNode {
  /** As `/readyz` names it. */
  readonly name: string;
  rows<T>(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<T[]>;
  /** In the lane for bookkeeping. */
  write(sql: string, params?: Readonly<Record<string, QueryParam>>): Promise<void>;
}

export interface ClickHouseCluster {
  /**
   * Before migrations: records which shard each node is.
   * @throws ConfigError when it was another one before, because its rows belong to another database
   */
  claimShardIdentities(): Promise<void>;
  /** After migrations: gives the `Distributed` tables the columns of the tables. */
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
