/**
 * Which backends the tests run on. `BACKENDS=servers npm test` takes real servers: those of
 * `TEST_CLICKHOUSE_URL`, `TEST_DATABASE_URL` and `TEST_KAFKA_BROKERS` when they are given, else
 * this machine's own, started here; `BACKENDS=cluster` the same, but two shards of ClickHouse;
 * `BACKENDS=containers` takes those of docker-compose.yml, by Docker. Each run has databases and
 * topics of its own there, and leaves none of the databases behind. Tests that start the service as
 * a process, on a data folder of its own, are about the embedded backends and stay.
 */
import { randomBytes } from "node:crypto";
import { openClickHouse } from "../backends/clickhouse-open.js";
import type { Logger } from "../backends/logger.js";
import { openPostgres } from "../backends/postgres-open.js";
import type { Releases } from "../backends/releases.js";
import type { ServerName } from "../ops/servers/kept.js";
import { startClickHouse } from "../ops/servers/clickhouse.js";
import { startKafka } from "../ops/servers/kafka.js";
import { startPostgres } from "../ops/servers/postgres.js";
import { clusterName, startCluster } from "./cluster-servers.js";
import { openServerFolder } from "./real-servers.js";
import { freePort } from "./service-process.js";

const inContainers = process.env.BACKENDS === "containers";
export const onCluster = process.env.BACKENDS === "cluster";
export const onServers = inContainers || onCluster || process.env.BACKENDS === "servers";

/** What one process may take of an engine it shares with others. */
export const engineLimits = { memoryBytes: 1_500_000_000, threads: 2 };

export interface TestServers {
  /** With a database that is there and empty. */
  readonly clickhouseUrl: string;
  /** Where the server is one of a cluster: its name, and the URLs of all shards. */
  readonly cluster: ServersOfCluster | null;
  /** Of the service, and of tests that need none of its rows; both there and empty. */
  readonly databaseUrl: string;
  readonly loneDatabaseUrl: string;
  readonly kafkaBrokers: string;
  readonly kafkaTopicPrefix: string;
}

interface ServersOfCluster {
  readonly name: string;
  readonly urls: readonly string[];
}

/** Of `openClickHouse`. */
export function clusterOrigin({ cluster }: Pick<TestServers, "cluster">) {
  return cluster === null ? {} : { cluster: cluster.name, shardUrls: cluster.urls };
}

/** Of the service. */
export function clusterSettings({ cluster }: Pick<TestServers, "cluster">) {
  if (cluster === null) return {};
  return { CLICKHOUSE_CLUSTER: cluster.name, CLICKHOUSE_SHARD_URLS: cluster.urls.join(",") };
}

/** What is started or made is registered in `releases`. */
export async function openTestServers(logger: Logger, releases: Releases): Promise<TestServers> {
  const run = `test_${randomBytes(6).toString("hex")}`;
  const folder = await openServerFolder("tests");
  releases.push("folder of the servers", () => folder.remove());
  const cluster = onCluster ? await startOwnCluster(folder.path, releases) : null;
  const clickhouse =
    cluster?.urls[0] ??
    process.env.TEST_CLICKHOUSE_URL ??
    (await startOwnClickHouse(folder.path, releases));
  const postgres = process.env.TEST_DATABASE_URL ?? (await startOwnPostgres(folder.path, releases));

  const clickhouseUrl = withDatabase(clickhouse, run);
  // Those of a cluster go with its servers.
  if (cluster === null) {
    releases.push("ClickHouse database", () => dropFromClickHouse(clickhouse, run));
  }
  const makeDatabase = async (name: string): Promise<string> => {
    await postgresCommand(postgres, `CREATE DATABASE ${name}`, logger);
    releases.push("Postgres database", () =>
      postgresCommand(postgres, `DROP DATABASE ${name} WITH (FORCE)`, logger),
    );
    return withDatabase(postgres, name);
  };
  return {
    clickhouseUrl,
    cluster,
    databaseUrl: await makeDatabase(run),
    loneDatabaseUrl: await makeDatabase(`${run}_alone`),
    kafkaBrokers: process.env.TEST_KAFKA_BROKERS ?? (await startOwnKafka(folder.path, releases)),
    kafkaTopicPrefix: `${run}.`,
  };
}

async function startOwnClickHouse(folder: string, releases: Releases): Promise<string> {
  if (inContainers) return inContainer("clickhouse", releases);
  const server = await startClickHouse({
    folder: `${folder}/clickhouse`,
    httpPort: await freePort(),
    tcpPort: await freePort(),
  });
  releases.push("ClickHouse server", () => server.stop());
  return server.url;
}

async function startOwnCluster(folder: string, releases: Releases): Promise<ServersOfCluster> {
  const servers = await startCluster(`${folder}/clickhouse`, 2);
  releases.push("ClickHouse cluster", () => servers.stop());
  return { name: clusterName, urls: servers.urls };
}

async function startOwnPostgres(folder: string, releases: Releases): Promise<string> {
  if (inContainers) return inContainer("postgres", releases);
  const server = await startPostgres({ folder: `${folder}/postgres`, port: await freePort() });
  releases.push("Postgres server", () => server.stop());
  return server.url;
}

async function startOwnKafka(folder: string, releases: Releases): Promise<string> {
  if (inContainers) return inContainer("kafka", releases);
  const server = await startKafka({ folder: `${folder}/kafka`, port: await freePort() });
  releases.push("Kafka server", () => server.stop());
  return server.url;
}

/** Loaded only then: few machines have Docker. */
async function inContainer(name: ServerName, releases: Releases): Promise<string> {
  const { startContainer } = await import("./containers.js");
  const started = await startContainer(name);
  releases.push(`container of ${name}`, () => started.stop());
  return started.url;
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
