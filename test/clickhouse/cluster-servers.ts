/** Real ClickHouse servers on this machine that know each other as the shards of one cluster. */
import { once } from "node:events";
import { startClickHouse } from "../../ops/servers/clickhouse.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { freePort } from "../harness/service-process.js";

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
    ([name, lists]) => {
      const by = name === user?.name ? xml({ user: name, password: user.password }) : "";
      const each = lists.map((replicas) => {
        const addresses = replicas.map((index) => {
          const port = String(ports[index]?.tcpPort);
          return `<replica>${xml({ host: "127.0.0.1", port })}${by}</replica>`;
        });
        return `<shard>${addresses.join("")}</shard>`;
      });
      return `<${name}>${each.join("")}</${name}>`;
    },
  );
  const config = `<remote_servers>${named.join("")}</remote_servers>${usersXml(user, profile)}`;
  const running = new Map<number, LocalServer>();
  const start = async (index: number): Promise<void> => {
    const place = ports[index];
    if (place === undefined) throw new Error(`there is no shard at ${index}`);
    const path = `${folder}/shard-${index + 1}`;
    // Where its users stand: in the same file.
    const directories = `<users_xml><path>${path}/config.xml</path></users_xml>`;
    const all = `${config}<user_directories>${directories}</user_directories>`;
    running.set(index, await startClickHouse({ folder: path, ...place, config: all }));
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

/** Rights are asked for as by a server as it is delivered. */
function usersXml(user: ClusterOptions["user"], profile: Readonly<Record<string, string>>): string {
  const access = xml({
    select_from_system_db_requires_grant: "true",
    table_engines_require_grant: "false",
  });
  const anywhere = "<networks><ip>::/0</ip></networks>";
  const usual = `${xml({ profile: "default", quota: "default" })}${anywhere}`;
  const grants = user?.grants.map((grant) => `<query>${grant}</query>`).join("");
  const more =
    user === undefined
      ? ""
      : `<${user.name}>${xml({ password: user.password })}${usual}<grants>${grants}</grants>` +
        `</${user.name}>`;
  return (
    `<access_control_improvements>${access}</access_control_improvements>` +
    `<profiles><default>${xml(profile)}</default></profiles><quotas><default/></quotas>` +
    `<users><default><password/>${usual}</default>${more}</users>`
  );
}

function xml(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join("");
}
