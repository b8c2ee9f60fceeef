/** The service as a person runs it, in a child process on a folder of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { tokenFile } from "../../stores/data-folder.js";
import { projectFile } from "../../runtime/project-root.js";
import { addressOf, running } from "../service-address.js";
import { stopChild, track, withFolder } from "./processes.js";

export interface RunningService {
  readonly base: URL;
  readonly adminToken: string;
  /** Of its data. */
  readonly folder: string;
  /** From the start of the process to the first 200 of `/readyz`. */
  readonly readyMs: number;
  /** A number of `/metrics` without labels. */
  metric(name: string): Promise<number>;
}

export interface Command {
  readonly file: string;
  readonly words: readonly string[];
}

const program = fileURLToPath(new URL("../../main.js", import.meta.url));
const readyMsMax = 60_000;
const readyPollMs = 5;

export function nodeCommand(profileFolder: string | null = null): Command {
  const flags = profileFolder === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
  return { file: process.execPath, words: [...flags, program] };
}

export const npmStart: Command = { file: "npm", words: ["start", "--silent"] };

/** Starts the service on `folder`, and stops it when `use` has ended. */
export async function withService<T>(
  folder: string,
  command: Command,
  use: (service: RunningService) => Promise<T>,
  settings: Readonly<Record<string, string>> = {},
): Promise<T> {
  const startedAt = performance.now();
  const child = spawnService(command, { DATA_DIR: folder, ...settings });
  try {
    const base = await readyAt(child);
    return await use({
      base,
      folder,
      adminToken: readFileSync(join(folder, tokenFile), "utf8").trim(),
      readyMs: performance.now() - startedAt,
      metric: (name) => metric(base, name),
    });
  } finally {
    await stopChild(child);
  }
}

/** A service on a folder of its own. */
export function withNewService<T>(
  profileFolder: string | null,
  use: (service: RunningService) => Promise<T>,
  settings: Readonly<Record<string, string>> = {},
): Promise<T> {
  return withFolder((folder) => withService(folder, nodeCommand(profileFolder), use, settings));
}

/**
 * Runs `npm run ops -- …words` on a folder.
 * @returns ms from its start to its end
 * @throws when it does not end well
 */
export async function runCommand(folder: string, words: readonly string[]): Promise<number> {
  const { file, words: main } = nodeCommand();
  const startedAt = performance.now();
  const command = { file, words: [...main, "ops", ...words] };
  const [code] = await once(spawnService(command, { DATA_DIR: folder }), "close");
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
  return performance.now() - startedAt;
}

/** A process of one role, over servers: `stopChild` ends it, as the end of this process does. */
export async function startRole(
  role: string,
  settings: Readonly<Record<string, string>>,
  profileFolder: string | null = null,
): Promise<{ readonly base: URL; readonly child: ChildProcess }> {
  const { file, words } = nodeCommand(profileFolder);
  const child = spawnService({ file, words: [...words, role] }, settings);
  return { base: await readyAt(child), child };
}

function spawnService(command: Command, settings: Readonly<Record<string, string>>): ChildProcess {
  const child = spawn(command.file, command.words, {
    cwd: projectFile(),
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      UV_THREADPOOL_SIZE: "16",
      PORT: "0",
      RATES_REFRESH: "off",
      LOG_LEVEL: "warn",
      ...settings,
    },
    // Its log lines go where the benchmark's errors go.
    stdio: ["ignore", 2, "pipe"],
    detached: true,
  });
  track(child);
  return child;
}

async function readyAt(child: ChildProcess): Promise<URL> {
  const refused = (said: string) => new Error(`the service ended: ${said}`);
  const base = new URL(await addressOf(child.stderr, running, once(child, "close"), refused));
  await ready(base);
  return base;
}

async function ready(base: URL): Promise<void> {
  const deadline = performance.now() + readyMsMax;
  while (performance.now() < deadline) {
    const answer = await fetch(new URL("/readyz", base));
    await answer.text();
    if (answer.ok) return;
    await pause(readyPollMs);
  }
  throw new Error(`not ready within ${readyMsMax} ms`);
}

/** A number of `/metrics` without labels. */
export async function metric(base: URL, name: string): Promise<number> {
  const text = await (await fetch(new URL("/metrics", base))).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`/metrics does not report ${name}`);
  return Number(line.slice(name.length));
}
