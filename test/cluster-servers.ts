/** Real ClickHouse servers on this machine that know each other as the shards of one cluster. */
import { once } from "node:events";
import { startClickHouse } from "../ops/servers/clickhouse.js";
import type { LocalServer } from "../ops/servers/server.js";
import { freePort } from "./service-process.js";

export const clusterName = "pair";

export interface ClusterServers {
  /** Of each shard, in order; reads are asked of the first. */
  readonly urls: readonly string[];
  server(index: number): LocalServer;
  /** By SIGKILL. */
  kill(index: number): Promise<void>;
  /** Again, with the data it had. */
  start(index: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param clusters further clusters by name, as lists of shards: each the numbers of its replicas
 */
export async function startCluster(
  folder: string,
  shards: number,
  clusters: Readonly<Record<string, readonly (readonly number[])[]>> = {},
): Promise<ClusterServers> {
  const ports: { readonly httpPort: number; readonly tcpPort: number }[] = [];
  while (ports.length < shards) {
    ports.push({ httpPort: await freePort(), tcpPort: await freePort() });
  }
  const replicaXml = (index: number): string =>
    `<replica><host>127.0.0.1</host><port>${ports[index]?.tcpPort}</port></replica>`;
  const all = { [clusterName]: ports.map((_, index) => [index]), ...clusters };
  const named = Object.entries(all).map(([name, lists]) => {
    const each = lists.map((replicas) => `<shard>${replicas.map(replicaXml).join("")}</shard>`);
    return `<${name}>${each.join("")}</${name}>`;
  });
  const config = `<remote_servers>${named.join("")}</remote_servers>`;
  const running = new Map<number, LocalServer>();
  const start = async (index: number): Promise<void> => {
    const place = ports[index];
    if (place === undefined) throw new Error(`there is no shard at ${index}`);
    running.set(
      index,
      await startClickHouse({ folder: `${folder}/shard-${index + 1}`, ...place, config }),
    );
  };
  const server = (index: number): LocalServer => {
    const found = running.get(index);
    if (found === undefined) throw new Error(`no shard runs at ${index}`);
    return found;
  };
  const stop = async (): Promise<void> => {
    await Promise.all([...running.values()].map((one) => one.stop()));
  };
  try {
    await Promise.all(ports.map((_, index) => start(index)));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    urls: ports.map(({ httpPort }) => `http://127.0.0.1:${httpPort}`),
    server,
    start,
    stop,
    async kill(index) {
      const { process } = server(index);
      const exited = once(process, "exit");
      process.kill("SIGKILL");
      await exited;
    },
  };
}
