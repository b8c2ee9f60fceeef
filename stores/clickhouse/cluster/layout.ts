/**
 * Which servers a cluster has: `system.clusters` of the server at CLICKHOUSE_URL, compared with the
 * address of each. A mismatch is reported in a sentence.
 */
import type { ClickHouseClient } from "@clickhouse/client";
import { ConfigError } from "../../../config.js";
import { StoreUnavailable } from "../clickhouse.js";
import { rowsOf } from "../server/server.js";
import { literal } from "../sql-text.js";

/** How late a process learns that the list of shards has changed. */
const clickhouseShardsSeenMs = 1_000;

/** An address, with connections to it. */
export interface Addressed {
  readonly url: URL;
  readonly client: ClickHouseClient;
}

export interface ClusterShard extends Addressed {
  /** From 1 on, as the cluster counts them. */
  readonly number: number;
  readonly weight: number;
}

interface ReportedReplica {
  readonly number: number;
  readonly weight: number;
  readonly host: string;
  readonly isLocal: boolean;
}

/** The one replica of each shard, in order. @throws ConfigError */
export async function reportedShards(
  first: Addressed,
  cluster: string,
): Promise<ReportedReplica[]> {
  const replicas = await rows<ReportedReplica>(
    first,
    `SELECT shard_num AS number, shard_weight AS weight, host_name AS host,
       toBool(is_local) AS isLocal
     FROM system.clusters WHERE cluster = {cluster:String} ORDER BY shard_num, replica_num`,
    { cluster },
  );
  if (replicas.length === 0) {
    const known = await rows<{ cluster: string }>(
      first,
      "SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster",
    );
    const names = known.map((row) => row.cluster).join(", ") || "none";
    throw refused(`the server at ${first.url.host} knows no cluster ${cluster}; it has: ${names}`);
  }
  const second = replicas.find(({ number }, index) => replicas[index - 1]?.number === number);
  if (second !== undefined) {
    throw refused(
      `shard ${second.number} of ${cluster} has more than one replica; this version keeps each ` +
        "shard on one server (docs/operating.md)",
    );
  }
  return replicas;
}

/** The port and the user of the first, at each shard's host. */
export function usualUrls(first: URL, shards: readonly ReportedReplica[]): URL[] {
  return shards.map(({ host, isLocal }) => {
    const url = new URL(first);
    if (!isLocal) url.hostname = host.includes(":") ? `[${host}]` : host;
    return url;
  });
}

/**
 * Which address leads to which shard: each server reports its names, directly and through the
 * cluster. All have to report the same cluster, or one would read other rows than another.
 * @param first where reads are asked; it has to be one of the shards
 * @throws ConfigError
 */
export async function matchShards(
  first: Addressed,
  addressed: readonly Addressed[],
  cluster: string,
): Promise<ClusterShard[]> {
  const all = [first, ...addressed];
  const [seen = [], ...others] = await Promise.all(all.map((one) => shardsSeenBy(one, cluster)));
  const odd = others.findIndex((other) => JSON.stringify(other) !== JSON.stringify(seen));
  if (odd >= 0) {
    const [one, other] = [first.url.host, addressed[odd]?.url.host];
    throw refused(`the servers at ${one} and ${other} have different shards of ${cluster}`);
  }
  const [, ...names] = await Promise.all(
    all.map(async (one) => {
      const name = await nameOf(one);
      if (seen.some((shard) => shard.name === name)) return name;
      throw refused(`the server at ${one.url.host} is none of the shards of ${cluster}`);
    }),
  );
  return seen.map(({ number, weight, name }) => {
    const found = addressed[names.indexOf(name)];
    if (found !== undefined) return { ...found, number, weight };
    throw refused(`no address leads to shard ${number} of ${cluster}: see CLICKHOUSE_SHARD_URLS`);
  });
}

/**
 * A server adopts a changed list of shards while it runs, and would then answer with the rows of
 * the remaining ones. So every reader checks that the list is unchanged.
 */
export class ShardsWatch {
  #lookedAt = -Infinity;

  private constructor(
    private readonly client: ClickHouseClient,
    private readonly cluster: string,
    private readonly list: string,
  ) {}

  /** @throws ConfigError */
  static async over(first: Addressed, cluster: string): Promise<ShardsWatch> {
    const [row] = await rows<{ list: string }>(first, listSql(cluster));
    return new ShardsWatch(first.client, cluster, row?.list ?? "");
  }

  /**
   * Asks only when the last answer is too old.
   * @throws StoreUnavailable
   */
  async same(): Promise<void> {
    if (performance.now() - this.#lookedAt < clickhouseShardsSeenMs) return;
    const [row] = await rowsOf<{ list: string }>(this.client, listSql(this.cluster));
    if (row?.list !== this.list) {
      throw new StoreUnavailable({
        cause: new Error(`the shards of ${this.cluster} were changed`),
      });
    }
    this.#lookedAt = performance.now();
  }

  /** For the readiness check: the servers reach each other. */
  async check(): Promise<void> {
    await this.same();
    const sql = `SELECT * FROM cluster(${literal(this.cluster)}, view(SELECT 1))`;
    await rowsOf(this.client, sql);
  }
}

function listSql(cluster: string): string {
  return `SELECT toString(arraySort(groupArray(
      (shard_num, shard_weight, replica_num, host_name, port)))) AS list
    FROM system.clusters WHERE cluster = ${literal(cluster)}`;
}

interface Seen {
  readonly number: number;
  readonly weight: number;
  readonly name: string;
}

async function shardsSeenBy(one: Addressed, cluster: string): Promise<Seen[]> {
  const shards = await reportedShards(one, cluster);
  const names = await rows<{ n: number; name: string }>(
    one,
    `SELECT _shard_num AS n, name FROM cluster({cluster:String}, view(SELECT ${nameSql} AS name))`,
    { cluster },
  );
  return shards.map(({ number, weight }) => {
    return { number, weight, name: names.find(({ n }) => n === number)?.name ?? "" };
  });
}

async function nameOf(one: Addressed): Promise<string> {
  const [row] = await rows<{ name: string }>(one, `SELECT ${nameSql} AS name`);
  return row?.name ?? "";
}

/** Unique to each server of a cluster. */
const nameSql = "concat(toString(serverUUID()), ' ', hostName(), ' ', toString(tcpPort()))";

async function rows<T>(
  { url, client }: Addressed,
  query: string,
  params: Readonly<Record<string, string>> = {},
): Promise<T[]> {
  try {
    const result = await client.query({
      query,
      query_params: { ...params },
      format: "JSONEachRow",
    });
    return await result.json<T>();
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "";
    throw refused(`the server at ${url.host} cannot ask the cluster: ${reason}`);
  }
}

export function refused(sentence: string): ConfigError {
  return new ConfigError([`CLICKHOUSE_CLUSTER: ${sentence}`]);
}
