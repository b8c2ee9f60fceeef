/**
 * The embedded database as its first opening leaves it, which takes a processor some seconds: made
 * once in a run, and copied to where tests begin with it. First starts that do without are those of
 * main.test.ts and of the restore in backup.test.ts.
 */
import { constants, existsSync } from "node:fs";
import { cp, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openPglite } from "../backends/postgres-pglite.js";
import { runFolder } from "./run.js";

const madeWithinMs = 120_000;
const askAgainAfterMs = 20;

/** Into a data folder that is not there, or has none. */
export async function placeDatabase(dataFolder: string, name = "postgres"): Promise<void> {
  const kept = join(runFolder, "empty-database");
  if (!existsSync(kept)) await make(kept);
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const mode = constants.COPYFILE_FICLONE;
  await cp(kept, join(dataFolder, name), { recursive: true, mode });
}

/** By the first process that comes; the others wait for it. */
async function make(kept: string): Promise<void> {
  const draft = `${kept}.draft`;
  const isFirst = await mkdir(draft).then(
    () => true,
    () => false,
  );
  if (isFirst) {
    const database = await openPglite(draft);
    await database.close();
    return rename(draft, kept);
  }
  for (let waited = 0; !existsSync(kept); waited += askAgainAfterMs) {
    if (waited > madeWithinMs) throw new Error(`${kept} was not made`);
    await pause(askAgainAfterMs);
  }
}
