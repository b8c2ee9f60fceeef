/** What the three origins of ClickHouse (embedded, server, cluster) have in common. */
import type { ClickHouseCluster, ClickHouseNode, RowsBatch, WriteLane } from "./clickhouse.js";
import type { TableFiles } from "./table-files.js";
import type { Logger } from "../../runtime/logger.js";

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
        /** Ends that waiting. */
        readonly stopping?: AbortSignal | undefined;
        /** Is told so. */
        readonly logger?: Logger;
      }
  );

/** Connections of one origin; `close` also ends what lies behind them. */
export interface Connections {
  readonly isShared: boolean;
  readonly readers: readonly Reader[];
  readonly writers: Readonly<Record<WriteLane, Writer>>;
  /** As many batches are appended at once. */
  readonly appenders: readonly Appender[];
  readonly files: TableFiles;
  /** Of a cluster. */
  readonly shards?: { readonly nodes: readonly ClickHouseNode[] } & ClickHouseCluster;
  close(): Promise<void>;
}

/** Takes statements as they are, with their values in them. */
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
