/**
 * The stores tests share. The ClickHouse engine opens one path per process, so all tests of a run
 * use one installation, opened when first asked for; each makes a workspace of its own.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openClickHouse } from "../backends/clickhouse-open.js";
import type { ClickHouse } from "../backends/clickhouse.js";
import { createLogger } from "../backends/logger.js";
import { migrateClickHouse, migratePostgres } from "../backends/migrations.js";
import { openPostgres } from "../backends/postgres-open.js";
import type { Postgres } from "../backends/postgres.js";
import { Releases } from "../backends/releases.js";

export const testLogger = createLogger(process.env.LOG_LEVEL ?? "silent");
export const testFolder = mkdtempSync(join(tmpdir(), "revenue-"));
export const testReleases = new Releases(testLogger);
testReleases.push("folder", () => rmSync(testFolder, { recursive: true }));

// Outside any suite: after the last test of the run.
after(async function closeStores() {
  this.timeout(20_000);
  await testReleases.release();
});

let clickhouse: Promise<ClickHouse> | undefined;
let postgres: Promise<Postgres> | undefined;

/** With its tables; the same path as `openTestService`. */
export function openTestClickHouse(): Promise<ClickHouse> {
  clickhouse ??= openMigratedClickHouse();
  return clickhouse;
}

/** With its tables; a folder of its own. */
export function openTestPostgres(): Promise<Postgres> {
  postgres ??= openMigratedPostgres();
  return postgres;
}

async function openMigratedClickHouse(): Promise<ClickHouse> {
  const path = join(testFolder, "clickhouse");
  const opened = await openClickHouse({ path, memoryBytes: 1_500_000_000, threads: 2 });
  testReleases.push("clickhouse", () => opened.close());
  await migrateClickHouse(opened, testLogger);
  return opened;
}

/** `TEST_DATABASE_URL` runs the same tests on a server. */
async function openMigratedPostgres(): Promise<Postgres> {
  const url = process.env.TEST_DATABASE_URL;
  const origin = url === undefined ? { path: join(testFolder, "postgres-alone") } : { url };
  const opened = await openPostgres(origin, testLogger);
  testReleases.push("postgres", () => opened.close());
  await migratePostgres(opened, testLogger);
  return opened;
}
