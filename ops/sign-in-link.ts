/**
 * `npm run ops -- sign-in-link`: signs the owner of the installation in, for anyone with access to
 * the machine. It works beside a running service: an embedded one reads the link from its data
 * folder, one on servers from Postgres.
 */
import { resolve } from "node:path";
import { type Config, ConfigError } from "../config.js";
import { writeLinkFile } from "../workspaces/members/first-run.js";
import { drawLink } from "../workspaces/members/one-time-tokens.js";
import { openPostgres } from "../stores/postgres/open.js";
import { expectInstallation } from "../stores/data-folder.js";
import { createLogger } from "../runtime/logger.js";

/** @returns the lines for the terminal */
export async function signInLink(config: Config): Promise<string> {
  const now = new Date();
  const token =
    config.DATABASE_URL === undefined
      ? tokenInFolder(config, now)
      : await tokenInDatabase(config.DATABASE_URL, now);
  const link = `http://localhost:${config.PORT}/setup#${token}`;
  return `Open this link within an hour; it counts once:\n\n  ${link}`;
}

function tokenInFolder(config: Config, now: Date): string {
  expectInstallation(config);
  return writeLinkFile(resolve(config.DATA_DIR), now);
}

async function tokenInDatabase(url: string, now: Date): Promise<string> {
  const postgres = await openPostgres({ url }, createLogger("warn"));
  try {
    const [found] = await postgres.query<{ is_there: boolean }>(
      "SELECT to_regclass('one_time_tokens') IS NOT NULL AS is_there",
    );
    if (found?.is_there !== true) {
      throw new ConfigError(["DATABASE_URL: no service has been started on this database yet"]);
    }
    return await postgres.transaction((sql) => drawLink(sql, "sign-in", now));
  } finally {
    await postgres.close();
  }
}
