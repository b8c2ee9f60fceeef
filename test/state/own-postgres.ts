/** Postgres databases of a test's own, with their tables, where this machine has a server. */
import { startPostgres } from "../../ops/servers/postgres.js";
import { openPostgres } from "../../stores/postgres/open.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { migratePostgres } from "../../stores/migrations.js";
import type { Releases } from "../../runtime/releases.js";
import { needServers, openServerFolder } from "../harness/real-servers.js";
import { freePort } from "../harness/service-process.js";
import { testLogger, testReleases } from "../harness/stores.js";

/** One for all of them, until the tests end. */
let server: Promise<Postgres & { readonly url: string }> | undefined;
let databases = 0;

/** Leaves the test out where there is no server. What is opened is registered in `releases`. */
export async function openOwnPostgres(
  context: Mocha.Context,
  releases: Releases,
): Promise<{ readonly url: string; readonly postgres: Postgres }> {
  await needServers(context, "postgres");
  const shared = await (server ??= start());
  const name = `state_${(databases += 1)}`;
  await shared.query(`CREATE DATABASE ${name}`);
  const url = new URL(`/${name}`, shared.url);
  const postgres = await openPostgres({ url: url.href }, testLogger);
  releases.push("postgres", () => postgres.close());
  await migratePostgres(postgres, testLogger);
  return { url: url.href, postgres };
}

async function start() {
  const folder = await openServerFolder("state");
  testReleases.push("folder", () => folder.remove());
  const own = await startPostgres({ folder: folder.path, port: await freePort() });
  testReleases.push("Postgres server", () => own.stop());
  const postgres = await openPostgres({ url: own.url }, testLogger);
  testReleases.push("postgres", () => postgres.close());
  return { ...postgres, url: own.url };
}
