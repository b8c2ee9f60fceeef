/**
 * The embedded database as a first start leaves it, with its tables, which takes a processor some
 * seconds: made once in a run, and copied to where tests begin with it. First starts that do
 * without are those of main.test.ts and of the restore in backup.test.ts.
 */
import { constants, existsSync } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createLogger } from "../../runtime/logger.js";
import { migratePostgres } from "../../stores/migrations.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { runFolder } from "./run.js";

const kept = join(runFolder, "empty-database");
let isKept: Promise<void> | undefined;

/** Called by mocha in the leader, before there are workers: no test's time is spent on it. */
export async function mochaGlobalSetup(): Promise<void> {
  const logger = createLogger("silent");
  const database = await openPostgres({ path: kept }, logger);
  await migratePostgres(database, logger);
  await database.close();
}

/** Into a data folder that is not there, or has none. */
export async function placeDatabase(dataFolder: string, name = "postgres"): Promise<void> {
  // A file that is run by itself has no leader.
  isKept ??= existsSync(kept) ? Promise.resolve() : mochaGlobalSetup();
  await isKept;
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const mode = constants.COPYFILE_FICLONE;
  await cp(kept, join(dataFolder, name), { recursive: true, mode });
}
