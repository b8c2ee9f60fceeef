/** Which servers run in the background, as their keepers write it down. */
import { execFile } from "node:child_process";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

/** In the order they are started. */
export const serverNames = ["postgres", "clickhouse", "kafka"] as const;
export type ServerName = (typeof serverNames)[number];

/** The service's setting that takes the server's URL. */
export const settingOf = {
  postgres: "DATABASE_URL",
  clickhouse: "CLICKHOUSE_URL",
  kafka: "KAFKA_BROKERS",
} as const satisfies Record<ServerName, string>;

/** Where clients of such servers look first, and what docker-compose.yml has inside. */
export const usualPorts = { postgres: 5432, clickhouse: 8123, clickhouseTcp: 9000, kafka: 9092 };

const kept = z.object({
  name: z.enum(serverNames),
  /** Process ids: who ends the server, and the server itself. */
  keeper: z.int(),
  server: z.int(),
  url: z.string(),
});
export type Kept = z.output<typeof kept>;

/** Null: it does not run, or its keeper was killed. */
export async function readKept(folder: string, name: ServerName): Promise<Kept | null> {
  const text = await readFile(fileOf(folder, name), "utf8").catch(() => null);
  if (text === null) return null;
  const read = kept.parse(JSON.parse(text));
  return (await isKeeper(read.keeper)) ? read : null;
}

/** Readable by its owner only: a URL may carry a password. */
export async function writeKept(folder: string, reported: Kept): Promise<void> {
  const path = fileOf(folder, reported.name);
  await writeFile(`${path}.new`, `${JSON.stringify(reported)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

export async function forgetKept(folder: string, name: ServerName): Promise<void> {
  await rm(fileOf(folder, name), { force: true });
}

/** By what it runs, too: after a restart of the machine its id may be another's. */
export async function isKeeper(pid: number): Promise<boolean> {
  const reported = await promisify(execFile)("ps", ["-o", "args=", "-p", String(pid)]).catch(
    () => null,
  );
  return reported?.stdout.includes(keeperProgram) ?? false;
}

export const keeperProgram = "keep-process.js";

function fileOf(folder: string, name: ServerName): string {
  return join(folder, `${name}.json`);
}
