/** What the three origins of ClickHouse (embedded, server, cluster) have in common. */
import type { ClickHouseCluster, ClickHouseNode, RowsBatch, WriteLane } from "./clickhouse.js";
import type { TableFiles } from "./table-files.js";
import type { Logger } from "../../runtime/logger.js";

export type ClickHouseOrigin = StatementLimits &
  (
    | { readonly path: string }
    | {
        readonly url: string;
        /** Its name, and the URLs of its shards. */
        readonly cluster?: string | undefined;
        readonly shardUrls?: readonly string[] | undefined;
        /** ms to wait at start for a server that does not answer; default: long enough */
        readonly patienceMs?: number;
        /** Ends that waiting. */
        readonly stopping?: AbortSignal | undefined;
        /** Reports that waiting. */
        readonly logger?: Logger;
      }
  );

/** Connections of one origin; `close` also ends the engine behind them. */
export interface Connections {
  readonly isShared: boolean;
  readonly readers: readonly Reader[];
  readonly writers: Readonly<Record<WriteLane, Writer>>;
  /** The number of batches that can be appended at once. */
  readonly appenders: readonly Appender[];
  readonly files: TableFiles;
  readonly shards?: { readonly nodes: readonly ClickHouseNode[] } & ClickHouseCluster;
  close(): Promise<void>;
}

/** Takes statements with their values in them. */
export interface Reader {
  /** @returns JSON, a row a line */
  text(sql: string): Promise<string>;
}

export interface Writer {
  readonly write: (sql: string) => Promise<void>;
}

export interface Appender {
  readonly append: (batch: RowsBatch) => Promise<void>;
}

interface StatementLimits {
  readonly memoryBytes: number;
  readonly threads: number;
}

export type ServerOrigin = Extract<ClickHouseOrigin, { url: string }>;
