/**
 * The stores tests share. The ClickHouse engine opens one path per process, so all tests of a
 * process use one installation, opened when first asked for; each makes a workspace of its own.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { type LmdbLog, openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { createLogger } from "../../runtime/logger.js";
import { migrateClickHouse, migratePostgres } from "../../stores/migrations.js";
import { openPostgres } from "../../stores/postgres/open.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { Releases } from "../../runtime/releases.js";
import {
  clusterOrigin,
  engineLimits,
  onServers,
  openTestServers,
  settingsOf,
  type TestServers,
} from "./backends.js";
import { lmdbTopics } from "../log/log-topics.js";
import { placeDatabase } from "./empty-database.js";
import { atEndOfRun } from "./run.js";

export const testLogger = createLogger(process.env.LOG_LEVEL ?? "silent");
export const testFolder = mkdtempSync(join(tmpdir(), "revenue-"));
export const testReleases = new Releases(testLogger);
testReleases.push("folder", () => rmSync(testFolder, { recursive: true }));

atEndOfRun(() => testReleases.release());

let servers: Promise<TestServers> | undefined;
let clickhouse: Promise<ClickHouse> | undefined;
let postgres: Promise<Postgres> | undefined;

/** Started when first asked for; null: the tests run on the embedded backends. */
export async function testServers(): Promise<TestServers | null> {
  if (!onServers) return null;
  servers ??= openTestServers(testLogger, testReleases);
  return servers;
}

/**
 * For a service as a process of a test's own: on the folder, where the database is placed, or on
 * servers, by what `openTestServers` makes for it alone. @returns its settings
 */
export async function prepareProcess(folder: string): Promise<Readonly<Record<string, string>>> {
  if (onServers) return settingsOf(await openTestServers(testLogger, testReleases));
  await placeDatabase(folder);
  return {};
}

/** With its tables; the same as that of `openTestService`. */
export function openTestClickHouse(): Promise<ClickHouse> {
  clickhouse ??= openMigratedClickHouse();
  return clickhouse;
}

/** With its tables, apart from those of `openTestService`. */
export function openTestPostgres(): Promise<Postgres> {
  postgres ??= openMigratedPostgres();
  return postgres;
}

/** Closed after the run. */
export function openTestLog(name: string): LmdbLog {
  const path = join(testFolder, `log-of-${name}`);
  const log = openLmdbLog({ path, topics: lmdbTopics({ partitions: 1 }), logger: testLogger });
  testReleases.push(`log of ${name}`, () => log.close());
  return log;
}

async function openMigratedClickHouse(): Promise<ClickHouse> {
  const given = await testServers();
  const opened = await openClickHouse({
    ...engineLimits,
    ...(given === null
      ? { path: join(testFolder, "clickhouse") }
      : { url: given.clickhouseUrl, ...clusterOrigin(given) }),
  });
  testReleases.push("clickhouse", () => opened.close());
  await migrateClickHouse(opened, testLogger);
  return opened;
}

/** `TEST_DATABASE_URL` runs the same tests on a server. */
async function openMigratedPostgres(): Promise<Postgres> {
  const url = (await testServers())?.loneDatabaseUrl ?? process.env.TEST_DATABASE_URL;
  const path = join(testFolder, "postgres-alone");
  if (url === undefined) await placeDatabase(testFolder, "postgres-alone");
  const origin = url === undefined ? { path } : { url };
  const opened = await openPostgres(origin, testLogger);
  testReleases.push("postgres", () => opened.close());
  await migratePostgres(opened, testLogger);
  return opened;
}
