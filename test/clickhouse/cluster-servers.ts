/** Real ClickHouse servers on this machine that know each other as the shards of one cluster. */
import { startClickHouse } from "../../ops/servers/clickhouse.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { freePort, kill } from "../harness/service-process.js";
import { granted, withUsers, type Xml, xml } from "./server-config.js";

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

interface ClusterOptions {
  /** Further clusters by name, as lists of shards: each the numbers of its replicas. */
  readonly clusters?: Readonly<Record<string, readonly (readonly number[])[]>>;
  /** One more user, whose name is also that of a further cluster that asks by it. */
  readonly user?: { readonly name: string; readonly password: string; readonly grants: string[] };
  /** Settings of all users. */
  readonly profile?: Readonly<Record<string, string>>;
}

export async function startCluster(
  folder: string,
  shards: number,
  { clusters = {}, user, profile = {} }: ClusterOptions = {},
): Promise<ClusterServers> {
  const ports: { readonly httpPort: number; readonly tcpPort: number }[] = [];
  while (ports.length < shards) {
    ports.push({ httpPort: await freePort(), tcpPort: await freePort() });
  }
  const whole = ports.map((_, index) => [index]);
  const own = user === undefined ? {} : { [user.name]: whole };
  const named = Object.entries({ [clusterName]: whole, ...own, ...clusters }).map(
    ([name, lists]): [string, Xml] => {
      const by = name === user?.name ? { user: name, password: user.password } : {};
      const addressOf = (index: number): Xml => {
        return { host: "127.0.0.1", port: String(ports[index]?.tcpPort), ...by };
      };
      return [name, { shard: lists.map((replicas) => ({ replica: replicas.map(addressOf) })) }];
    },
  );
  const users =
    user === undefined ? {} : { [user.name]: { password: user.password, ...granted(user.grants) } };
  const running = new Map<number, LocalServer>();
  const start = async (index: number): Promise<void> => {
    const place = ports[index];
    if (place === undefined) throw new Error(`there is no shard at ${index}`);
    const path = `${folder}/shard-${index + 1}`;
    const config = {
      remote_servers: Object.fromEntries(named),
      // Rights are asked for as by a server as it is delivered.
      access_control_improvements: {
        select_from_system_db_requires_grant: "true",
        table_engines_require_grant: "false",
      },
      ...withUsers(path, users, { default: profile }),
    };
    running.set(index, await startClickHouse({ folder: path, ...place, config: xml(config) }));
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
    kill: (index) => kill(server(index).process),
  };
}
