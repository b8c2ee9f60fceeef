/** A Postgres server of a test's own, with its tables, where this machine has one. */
import { startPostgres } from "../../ops/servers/postgres.js";
import { openPostgres } from "../../stores/postgres/open.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { migratePostgres } from "../../stores/migrations.js";
import type { Releases } from "../../runtime/releases.js";
import { needServers, openServerFolder } from "../harness/real-servers.js";
import { freePort } from "../harness/service-process.js";
import { testLogger } from "../harness/stores.js";

/** Leaves the test out where there is none. What is opened is registered in `releases`. */
export async function openOwnPostgres(
  context: Mocha.Context,
  releases: Releases,
): Promise<{ readonly url: string; readonly postgres: Postgres }> {
  await needServers(context, "postgres");
  const folder = await openServerFolder("state");
  releases.push("folder", () => folder.remove());
  const server = await startPostgres({ folder: folder.path, port: await freePort() });
  releases.push("Postgres server", () => server.stop());
  const postgres = await openPostgres({ url: server.url }, testLogger);
  releases.push("postgres", () => postgres.close());
  await migratePostgres(postgres, testLogger);
  return { url: server.url, postgres };
}
