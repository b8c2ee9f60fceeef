/** Kafka, ClickHouse and Postgres on this machine, for as long as who asked for them runs. */
import { join } from "node:path";
import { startClickHouse } from "./clickhouse.js";
import { type LocalKafka, startKafka } from "./kafka.js";
import { type ServerName, serverNames, settingOf } from "./names.js";
import { startPostgres } from "./postgres.js";
import type { LocalServer } from "./server.js";

export type Servers = Readonly<Record<ServerName, LocalServer>>;

export interface ServersOptions {
  /** Each gets a folder in it. Postgres may run as another user, who has to pass. */
  readonly folder: string;
  /** One that nobody listens on, another at each call. */
  readonly freePort: () => Promise<number>;
  readonly kafka?: Pick<LocalKafka, "properties">;
  /** Instead of one ClickHouse on the folder. */
  readonly clickhouse?: () => Promise<LocalServer>;
}

/** @throws what the first that failed says, when all that did start have ended again */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const { freePort } = options;
  const under = (name: ServerName): string => join(options.folder, name);
  const [port, httpPort, tcpPort] = [await freePort(), await freePort(), await freePort()];
  const postgresPort = await freePort();
  const [kafka, clickhouse, postgres] = await Promise.allSettled([
    startKafka({ folder: under("kafka"), port, ...options.kafka }),
    options.clickhouse?.() ?? startClickHouse({ folder: under("clickhouse"), httpPort, tcpPort }),
    startPostgres({ folder: under("postgres"), port: postgresPort }),
  ]);
  if (isStarted(kafka) && isStarted(clickhouse) && isStarted(postgres)) {
    return { kafka: kafka.value, clickhouse: clickhouse.value, postgres: postgres.value };
  }
  const all = [kafka, clickhouse, postgres];
  await Promise.all(all.filter(isStarted).map(({ value }) => value.stop()));
  throw all.find((one) => one.status === "rejected")?.reason;
}

/** Which settings of the service name them. */
export function settingsOf(servers: Servers): Readonly<Record<string, string>> {
  return Object.fromEntries(serverNames.map((name) => [settingOf[name], servers[name].url]));
}

export async function stopServers(servers: Servers): Promise<void> {
  for (const name of serverNames.toReversed()) await servers[name].stop();
}

function isStarted(
  one: PromiseSettledResult<LocalServer>,
): one is PromiseFulfilledResult<LocalServer> {
  return one.status === "fulfilled";
}
