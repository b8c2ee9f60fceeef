/**
 * Which backends the tests run on. `BACKENDS=servers npm test` takes real servers: those of
 * `TEST_CLICKHOUSE_URL`, `TEST_DATABASE_URL` and `TEST_KAFKA_BROKERS` when they are given, else
 * this machine's own, started here; `BACKENDS=cluster` the same, but two shards of ClickHouse and
 * two databases for the books; `BACKENDS=containers` takes those of docker-compose.yml, by Docker.
 * The servers are one set for a run: the leader starts them. Each worker has databases and topics
 * of its own there, and leaves none of the databases behind. Tests of the data folder, and of what
 * lies in it, stay embedded.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import { createLogger, type Logger } from "../../runtime/logger.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { Releases } from "../../runtime/releases.js";
import type { ServerName } from "../../ops/servers/names.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { startClickHouse } from "../../ops/servers/clickhouse.js";
import { startKafka } from "../../ops/servers/kafka.js";
import { startPostgres } from "../../ops/servers/postgres.js";
import { clusterName, startCluster } from "../clickhouse/cluster-servers.js";
import { runFolder } from "./run.js";
import { freePort } from "./service-process.js";

const inContainers = process.env.BACKENDS === "containers";
export const onCluster = process.env.BACKENDS === "cluster";
export const onServers = inContainers || onCluster || process.env.BACKENDS === "servers";

/** What one process may take of an engine it shares with others. */
export const engineLimits = { memoryBytes: 1_500_000_000, threads: 2 };

export interface TestServers {
  /** With a database that is there and empty. */
  readonly clickhouseUrl: string;
  readonly cluster: RunServers["cluster"];
  /** Of the service, and of tests that need none of its rows; both there and empty. */
  readonly databaseUrl: string;
  readonly loneDatabaseUrl: string;
  /** For the books; none: they lie in `databaseUrl`. */
  readonly stateUrls: readonly string[];
  readonly kafkaBrokers: string;
  readonly kafkaTopicPrefix: string;
}

const runServers = z.object({
  clickhouse: z.string(),
  /** Where ClickHouse is one of a cluster: its name, and the URLs of all shards. */
  cluster: z.object({ name: z.string(), urls: z.array(z.string()).readonly() }).nullable(),
  postgres: z.string(),
  kafka: z.string(),
});
type RunServers = z.infer<typeof runServers>;

/** Of `openClickHouse`. */
export function clusterOrigin({ cluster }: Pick<TestServers, "cluster">) {
  return cluster === null ? {} : { cluster: cluster.name, shardUrls: cluster.urls };
}

/** Of the service, with keys of its own: there is no data folder to keep any. */
export function settingsOf(servers: TestServers): Readonly<Record<string, string>> {
  const { cluster } = servers;
  return {
    CLICKHOUSE_URL: servers.clickhouseUrl,
    ...(cluster === null
      ? {}
      : { CLICKHOUSE_CLUSTER: cluster.name, CLICKHOUSE_SHARD_URLS: cluster.urls.join(",") }),
    DATABASE_URL: servers.databaseUrl,
    ...(servers.stateUrls.length === 0 ? {} : { STATE_DATABASE_URLS: servers.stateUrls.join(",") }),
    KAFKA_BROKERS: servers.kafkaBrokers,
    KAFKA_TOPIC_PREFIX: servers.kafkaTopicPrefix,
    KAFKA_PARTITIONS: "3",
    ADMIN_TOKEN: newKey(),
    VAULT_ENCRYPTION_KEY: newKey(),
  };
}

export function newKey(): string {
  return randomBytes(32).toString("hex");
}

const reported = join(runFolder, "servers.json");
const startedForRun = new Releases(createLogger("silent"));

/** Called by mocha in the leader, before there are workers: no test's time is spent on it. */
export async function mochaGlobalSetup(): Promise<void> {
  if (!onServers) return;
  try {
    const started = JSON.stringify(await startServers(startedForRun));
    writeFileSync(reported, started, { mode: 0o600 });
  } catch (error) {
    // Those that started would keep this process running.
    await startedForRun.release();
    throw error;
  }
}

/** Called by mocha in the leader, when all workers have ended. */
export function mochaGlobalTeardown(): Promise<void> {
  return startedForRun.release();
}

let startedHere: Promise<RunServers> | undefined;

/** Databases and topics of its own at each call. What is made is registered in `releases`. */
export async function openTestServers(logger: Logger, releases: Releases): Promise<TestServers> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  // A file that is run by itself has no leader.
  const { clickhouse, cluster, postgres, kafka } = existsSync(reported)
    ? runServers.parse(JSON.parse(readFileSync(reported, "utf8")))
    : await (startedHere ??= startServers(releases));

  const clickhouseUrl = withDatabase(clickhouse, name);
  // Those of a cluster go with its servers.
  if (cluster === null) {
    releases.push("ClickHouse database", () => dropFromClickHouse(clickhouse, name));
  }
  const makeDatabase = async (database: string): Promise<string> => {
    await postgresCommand(postgres, `CREATE DATABASE ${database}`, logger);
    releases.push("Postgres database", () =>
      postgresCommand(postgres, `DROP DATABASE ${database} WITH (FORCE)`, logger),
    );
    return withDatabase(postgres, database);
  };
  return {
    clickhouseUrl,
    cluster,
    databaseUrl: await makeDatabase(name),
    loneDatabaseUrl: await makeDatabase(`${name}_alone`),
    stateUrls: onCluster
      ? [await makeDatabase(`${name}_state_1`), await makeDatabase(`${name}_state_2`)]
      : [],
    kafkaBrokers: kafka,
    kafkaTopicPrefix: `${name}.`,
  };
}

async function startServers(releases: Releases): Promise<RunServers> {
  const folder = join(runFolder, "servers");
  await mkdir(folder);
  /** In a container where those are asked for, which few machines can run. @returns its URL */
  const startOwn = async (name: ServerName, start: () => Promise<LocalServer>): Promise<string> => {
    const server = inContainers
      ? await (await import("./containers.js")).startContainer(name)
      : await start();
    releases.push(name, () => server.stop());
    return server.url;
  };
  const under = (name: ServerName): string => join(folder, name);
  // First: it takes connections some time before it answers.
  const kafka =
    process.env.TEST_KAFKA_BROKERS ??
    (await startOwn("kafka", async () =>
      startKafka({ folder: under("kafka"), port: await freePort() }),
    ));
  const cluster = onCluster ? await startOwnCluster(under("clickhouse"), releases) : null;
  const clickhouse =
    cluster?.urls[0] ??
    process.env.TEST_CLICKHOUSE_URL ??
    (await startOwn("clickhouse", async () => {
      const ports = { httpPort: await freePort(), tcpPort: await freePort() };
      return startClickHouse({ folder: under("clickhouse"), ...ports });
    }));
  const postgres =
    process.env.TEST_DATABASE_URL ??
    (await startOwn("postgres", async () =>
      startPostgres({ folder: under("postgres"), port: await freePort() }),
    ));
  return { clickhouse, cluster, postgres, kafka };
}

async function startOwnCluster(
  folder: string,
  releases: Releases,
): Promise<NonNullable<RunServers["cluster"]>> {
  const servers = await startCluster(folder, 2);
  releases.push("ClickHouse cluster", () => servers.stop());
  return { name: clusterName, urls: servers.urls };
}

/** The service makes the database itself; this removes it. */
async function dropFromClickHouse(url: string, name: string): Promise<void> {
  const clickhouse = await openClickHouse({ url, ...engineLimits });
  try {
    await clickhouse.write(`DROP DATABASE IF EXISTS ${name} SYNC`);
  } finally {
    await clickhouse.close();
  }
}

async function postgresCommand(url: string, sql: string, logger: Logger): Promise<void> {
  const postgres = await openPostgres({ url }, logger);
  try {
    await postgres.query(sql);
  } finally {
    await postgres.close();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.toString();
}
