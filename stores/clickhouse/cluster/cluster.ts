/**
 * A cluster of ClickHouse servers (shards). Reads go to the one at CLICKHOUSE_URL; a write is one
 * statement for each shard (shard-statements.ts), so that the lock of a write lane is where the
 * rows are. A `Distributed` insert could still be under way at a shard that was stopped when its
 * repeat looks for the rows (docs/decisions/clickhouse.md).
 */
import { allEnded } from "../../../runtime/all-settled.js";
import type { ClickHouseClient } from "@clickhouse/client";
import { limits } from "../../../config.js";
import { appendTo } from "../rows.js";
import { byLane, StoreUnavailable, type WriteLane } from "../clickhouse.js";
import { serverFiles } from "../table-files.js";
import {
  type Addressed,
  type ClusterShard,
  matchShards,
  ShardsWatch,
  reportedShards,
  usualUrls,
} from "./layout.js";
import { joinTables, type ShardNode, claimShardIdentities } from "./shard-identity.js";
import {
  appending,
  appendersMax,
  rowsOf,
  serverClient,
  serverLanes,
  textOf,
} from "../server/server.js";
import {
  type ClusterNames,
  clusterRead,
  shareOf,
  shardWrite,
  type Slots,
  slotsOf,
} from "./shard-statements.js";
import { bind } from "../sql-text.js";
import { whenUsable } from "../server/start-checks.js";
import type { Appender, Connections, ServerOrigin, Writer } from "../connections.js";

export type ClusterOrigin = ServerOrigin & { readonly cluster: string };

const shardSuffix = "_shard";

/** @throws ConfigError when the cluster cannot be used, with the reason */
export async function connectCluster(origin: ClusterOrigin): Promise<Connections> {
  const { cluster } = origin;
  const { url, database } = await whenUsable(origin, "CLICKHOUSE_URL", [shardSuffix]);
  const open: ClickHouseClient[] = [];
  const connect = (to: URL, name: string): ClickHouseClient => {
    const client = serverClient(to, name, origin, whole);
    open.push(client);
    return client;
  };
  const close = async (): Promise<void> => {
    await Promise.all(open.map((client) => client.close()));
  };
  try {
    const client = connect(url, database);
    const watch = await ShardsWatch.over({ url, client }, cluster);
    const shards = await shardsOf(origin, { url, client }, database, connect);
    const names: ClusterNames = { cluster, database, shardDatabase: `${database}${shardSuffix}` };
    const connected = slotsOf(shards).map(({ shard, slots }) => connectShard(shard, slots, names));
    const reader = {
      async text(sql: string) {
        await watch.same();
        return textOf(client, clusterRead(sql, names));
      },
    };
    const appender: Appender = {
      append: (batch) => allEnded(connected.map((shard) => shard.append(batch))),
    };
    return {
      isShared: true,
      readers: Array.from({ length: limits.clickhouseReadersMax }, () => reader),
      writers: byLane((lane) => writer(connected, lane)),
      appenders: Array.from({ length: appendersMax }, () => appender),
      files: serverFiles(client),
      shards: {
        nodes: connected.map(({ node }) => node),
        claimShardIdentities: () => claimShardIdentities(connected, names),
        joinTables: () => joinTables(connected, names),
        check: () => watch.check(),
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Whatever the user's profile: an answer covers the rows of all shards or is an error, a subquery
 * is limited to one shard in `eachShard` only, and restored rows are visible.
 */
const whole = {
  skip_unavailable_shards: 0,
  distributed_product_mode: "deny",
  distributed_group_by_no_merge: "0",
  optimize_skip_unused_shards: 0,
  distributed_foreground_insert: 1,
} as const;

interface ConnectedShard extends ShardNode, Appender {
  readonly writers: Readonly<Record<WriteLane, Writer>>;
}

function connectShard(shard: ClusterShard, slots: Slots, names: ClusterNames): ConnectedShard {
  const { number, url, client } = shard;
  const name = `clickhouse shard ${number}`;
  const lanes = serverLanes(client, names.shardDatabase);
  const engine = appending(client);
  const named = async (write: () => Promise<void>): Promise<void> => {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      const cause = new Error(`${name} at ${url.host}`, { cause: error.cause });
      throw new StoreUnavailable({ cause });
    }
  };
  const toShard = (lane: Writer): Writer => ({
    write: (sql) => named(() => lane.write(shardWrite(sql, slots, names))),
  });
  return {
    ...shard,
    node: {
      name,
      rows: <T>(sql: string, params?: Parameters<typeof bind>[1]) =>
        rowsOf<T>(client, bind(sql, params)),
      write: (sql, params) => lanes.bookkeeping.write(bind(sql, params)),
    },
    writers: byLane((lane) => toShard(lanes[lane])),
    append: (batch) => named(() => appendTo(engine, batch, shareOf(batch, slots))),
  };
}

/**
 * Writes to all shards at once. When one fails, others may have written: the same rows come again,
 * and are found there.
 */
function writer(shards: readonly ConnectedShard[], lane: WriteLane): Writer {
  return {
    async write(sql) {
      await allEnded(shards.map(({ writers }) => writers[lane].write(sql)));
    },
  };
}

/**
 * @param connect makes a pool of connections
 * @throws ConfigError
 */
async function shardsOf(
  { cluster, shardUrls, patienceMs, stopping }: ClusterOrigin,
  first: Addressed,
  database: string,
  connect: (to: URL, database: string) => ClickHouseClient,
): Promise<ClusterShard[]> {
  const reported = await reportedShards(first, cluster);
  const setting = shardUrls === undefined ? "CLICKHOUSE_CLUSTER" : "CLICKHOUSE_SHARD_URLS";
  const urls = shardUrls?.map((url) => new URL(url)) ?? usualUrls(first.url, reported);
  const patience = { stopping, ...(patienceMs !== undefined && { patienceMs }) };
  const addressed = await Promise.all(
    urls.map(async (given) => {
      given.pathname = `/${encodeURIComponent(database)}`;
      const { url } = await whenUsable({ url: given.href, ...patience }, setting, [shardSuffix]);
      return { url, client: connect(url, `${database}${shardSuffix}`) };
    }),
  );
  return matchShards(first, addressed, cluster);
}
