/** The embedded metadata store: Postgres in this process, kept in a folder. */
import { type FileHandle, mkdir, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { PGlite, types } from "@electric-sql/pglite";
import { columns, type Postgres, PostgresUnavailable } from "./postgres.js";
import { isUnavailable } from "./errors.js";

/** All of it is resident from the start on; Postgres would take 128 MB. */
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
        await syncFiles(join(path, "pg_wal"));
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

/** PGlite writes its log without fsync; as in any Postgres, the log alone brings all back. */
async function syncFiles(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isFile()) await sync(join(folder, entry.name));
  }
  await sync(folder);
}

async function sync(path: string): Promise<void> {
  const handle = await openIfThere(path);
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

/** Postgres may recycle a segment between the listing and this. */
async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
