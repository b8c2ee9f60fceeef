/** The embedded metadata store: Postgres in this process, kept in a folder. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { PGlite, types } from "@electric-sql/pglite";
import { columns, type Postgres, PostgresUnavailable } from "./postgres.js";
import { isUnavailable } from "./errors.js";
import { FolderSync } from "./folder-sync.js";

/** Resident from the start on; Postgres would take 128 MB. */
const sharedBuffers = "32MB";

export async function openPglite(path: string): Promise<Postgres> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const database = await PGlite.create({
    dataDir: path,
    startParams: [...PGlite.defaultStartParams, "-c", `shared_buffers=${sharedBuffers}`],
    parsers: {
      [types.INT8]: columns.int8,
      [types.DATE]: columns.date,
      [types.BYTEA]: columns.bytea,
    },
  });
  // PGlite writes its log without fsync; as in any Postgres, the log alone restores everything.
  const log = new FolderSync(join(path, "pg_wal"));
  return {
    query: <T>(sql: string, values: readonly unknown[] = []) =>
      orUnavailable(async () => (await database.query<T>(sql, [...values])).rows),
    transaction: (run) =>
      orUnavailable(async () => {
        const result = await database.transaction((transaction) =>
          run({
            query: async <T>(sql: string, values: readonly unknown[] = []) =>
              (await transaction.query<T>(sql, [...values])).rows,
          }),
        );
        await log.synced();
        return result;
      }),
    close: () => database.close(),
  };
}

/** A full disk passes, as it does on a server. */
async function orUnavailable<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    throw isUnavailable(error) ? new PostgresUnavailable("no room", { cause: error }) : error;
  }
}
