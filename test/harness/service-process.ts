/**
 * The built service as a process of its own, on a folder of its own. It lives as briefly as the
 * tests do, and takes the options that Node has for them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Endpoint } from "../model/merchant.js";

const entry = fileURLToPath(new URL("../../main.js", import.meta.url));
/** Far more than it takes: other work may share the machine. */
const readyWithinMs = 180_000;

/** None outlives this process, however a test ended. */
const started = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of started) child.kill("SIGKILL");
});

export function startService(
  folder: string,
  port: number,
  settings: Readonly<Record<string, string>> = {},
  said: "ignore" | "pipe" = "ignore",
  program = entry,
): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, program], {
    env: { ...environment(folder, port), ...settings },
    stdio: ["ignore", "inherit", said],
  });
  started.add(child);
  return child;
}

/** Services of a suite, one at a time at one address; the last is killed after the suite. */
export class SuiteService {
  #child: ChildProcess | undefined;
  #port: number | undefined;

  constructor() {
    after(() => this.kill());
  }

  /**
   * Resolves when it is ready.
   * @param program of another version
   */
  async start(
    folder: string,
    settings: Readonly<Record<string, string>> = {},
    program = entry,
  ): Promise<{ readonly port: number; readonly endpoint: Endpoint }> {
    const port = (this.#port ??= await freePort());
    this.#child = startService(folder, port, settings, "ignore", program);
    await whenReady(this.#child, port);
    const { ADMIN_TOKEN: given } = settings;
    const adminToken = given ?? readFileSync(join(folder, "admin.token"), "utf8").trim();
    return { port, endpoint: { base: `http://127.0.0.1:${port}`, adminToken } };
  }

  /** Null while it runs, and after a kill. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  /** As the system asks a service to end. */
  async stop(): Promise<void> {
    if (this.#child !== undefined) await end(this.#child, "SIGTERM");
  }

  async kill(): Promise<void> {
    if (this.#child !== undefined) await kill(this.#child);
  }
}

/** `npm run ops -- …` on the folder. */
export async function runCommand(
  folder: string,
  words: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly reported: string }> {
  const child = startCommand(folder, words, settings);
  let reported = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => (reported += chunk.toString()));
  }
  await once(child, "close");
  return { code: child.exitCode, reported };
}

function startCommand(
  folder: string,
  words: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, entry, "ops", ...words], {
    env: { ...environment(folder, 0), ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.add(child);
  return child;
}

/** Ended without warning as soon as it reports this. @returns all that it reported */
export async function killedCommand(
  folder: string,
  words: readonly string[],
  at: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const command = startCommand(folder, words, settings);
  const exited = once(command, "exit");
  let reported = "";
  command.stdout?.on("data", (chunk: Buffer) => {
    reported += chunk.toString();
    if (reported.includes(at)) command.kill("SIGKILL");
  });
  await exited;
  if (command.signalCode === "SIGKILL") return reported;
  throw new Error(`ended before it reported ${at}: ${reported}`);
}

function environment(folder: string, port: number): NodeJS.ProcessEnv {
  return {
    ...process.env,
    UV_THREADPOOL_SIZE: "16",
    DATA_DIR: folder,
    PORT: String(port),
    RATES_REFRESH: "off",
    LOG_LEVEL: "error",
  };
}

export async function whenReady(child: ChildProcess, port: number): Promise<void> {
  const startedAt = Date.now();
  while (!(await isReady(port))) {
    if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode} while starting`);
    if (Date.now() - startedAt > readyWithinMs) throw new Error("not ready in time");
    await pause(50);
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  } catch {
    return false;
  }
}

export function kill(child: ChildProcess): Promise<void> {
  return end(child, "SIGKILL");
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

/**
 * Of numbers that no system gives to calls that go out, since a service killed by a test comes back
 * to its own; workers of a run share none.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < portsPerWorker; tries += 1) {
    portsTaken += 1;
    const port = portsFrom + (portsTaken % portsPerWorker);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port is free from ${portsFrom} on`);
}

const portsPerWorker = 2_000;
const worker = Number(process.env["MOCHA_WORKER_ID"] ?? 0);
const portsFrom = 20_000 + (worker % 6) * portsPerWorker;
// Another run may be under way on this machine.
let portsTaken = process.pid;

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port);
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}

/** The journal of events is written behind the figures. */
export async function whenJournaled(port: number): Promise<void> {
  const none = /^revenue_consumer_lag_records\{group="[^"]*raw\.journal"\} 0$/m;
  while (!none.test(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())) {
    await pause(50);
  }
}
