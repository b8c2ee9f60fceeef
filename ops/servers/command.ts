/**
 * `npm run ops -- servers start|stop|status [kafka|clickhouse|postgres] [--folder .servers]`: real
 * servers in the background, for development. Each has a keeper, a process of its own that starts
 * it and ends it (keep-process.ts); what the service needs to use them is in the file `env`.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  isKeeper,
  keeperProgram,
  type Kept,
  readKept,
  type ServerName,
  serverNames,
  settingOf,
} from "./kept.js";

const nameList = serverNames.join("|");
const usage = `npm run ops -- servers start|stop|status [${nameList}] [--folder <path>]`;
const lookEveryMs = 100;
/** The first start of Kafka fetches it. */
const startMsMax = 10 * 60 * 1000;
const stopMsMax = 60_000;

/** @returns the exit code */
export async function serversCommand(words: readonly string[]): Promise<number> {
  const order = readWords(words);
  if (order === null) return printError(usage);
  const { what, names: chosen, folder } = order;
  await mkdir(folder, { recursive: true });
  try {
    if (what === "start") for (const name of chosen) await start(name, folder);
    if (what === "stop") for (const name of chosen) await stop(name, folder);
    if (what === "status") await printStatus(chosen, folder);
    if (what !== "status") await writeEnvironment(folder);
    if (what === "start") report(`. ${relative(".", join(folder, "env"))} && npm start`);
    return 0;
  } catch (error) {
    return printError(error instanceof Error ? error.message : String(error));
  }
}

async function start(name: ServerName, folder: string): Promise<void> {
  const running = await readKept(folder, name);
  if (running !== null) return report(`${name} runs, process ${running.keeper}`);
  const own = join(folder, name);
  await mkdir(own, { recursive: true });
  const logFile = join(own, "keeper.log");
  const log = openSync(logFile, "w");
  const keeper = spawn(
    process.execPath,
    [fileURLToPath(new URL(keeperProgram, import.meta.url)), name, folder],
    { detached: true, stdio: ["ignore", log, log] },
  );
  closeSync(log);
  keeper.unref();
  const startedAt = Date.now();
  for (;;) {
    const kept = await readKept(folder, name);
    if (kept !== null) return report(`${name} runs, process ${kept.keeper}`);
    const isLate = Date.now() - startedAt > startMsMax;
    if (keeper.exitCode !== null || keeper.signalCode !== null || isLate) {
      const why = (await readFile(logFile, "utf8")).trim();
      throw new Error(`${name} does not start: ${why}`);
    }
    await pause(lookEveryMs);
  }
}

async function stop(name: ServerName, folder: string): Promise<void> {
  const kept = await readKept(folder, name);
  if (kept === null) return report(`${name} does not run`);
  process.kill(kept.keeper, "SIGTERM");
  const askedAt = Date.now();
  while (await isKeeper(kept.keeper)) {
    if (Date.now() - askedAt > stopMsMax) throw new Error(`${name} does not end`);
    await pause(lookEveryMs);
  }
  report(`${name} has ended`);
}

async function printStatus(chosen: readonly ServerName[], folder: string): Promise<void> {
  for (const name of chosen) {
    const kept = await readKept(folder, name);
    report(kept === null ? `${name} does not run` : `${name} runs, process ${kept.keeper}`);
  }
}

/** To be sourced by a shell; the secrets are made once and stay. */
async function writeEnvironment(folder: string): Promise<void> {
  const path = join(folder, "env");
  const before = await readFile(path, "utf8").catch(() => "");
  const secret = (name: string) =>
    new RegExp(`^export ${name}=(\\w+)$`, "m").exec(before)?.[1] ?? randomBytes(32).toString("hex");
  const kept = await Promise.all(serverNames.map((name) => readKept(folder, name)));
  const running = kept.filter((one): one is Kept => one !== null);
  const lines = [
    ...running.map(({ name, url }) => [settingOf[name], url]),
    ...["VAULT_ENCRYPTION_KEY", "ADMIN_TOKEN"].map((name) => [name, secret(name)]),
    ["DATA_DIR", join(folder, "data")],
  ];
  const text = lines.map(([name, value]) => `export ${name}='${value}'\n`).join("");
  await writeFile(path, text.replaceAll(/'(\w+)'/g, "$1"), { mode: 0o600 });
}

interface Order {
  readonly what: "start" | "stop" | "status";
  readonly names: readonly ServerName[];
  /** Absolute: the keepers outlive the folder this was called in. */
  readonly folder: string;
}

function readWords(words: readonly string[]): Order | null {
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options: { folder: { type: "string", default: ".servers" } },
      allowPositionals: true,
    });
    const [what, name, ...more] = positionals;
    if (what !== "start" && what !== "stop" && what !== "status") return null;
    const chosen = serverNames.filter((one) => name === undefined || name === one);
    if (chosen.length === 0 || more.length > 0) return null;
    return { what, names: chosen, folder: resolve(values.folder) };
  } catch {
    return null;
  }
}

function report(line: string): void {
  process.stdout.write(`${line}\n`);
}

function printError(line: string): number {
  process.stderr.write(`${line}\n`);
  return 2;
}
