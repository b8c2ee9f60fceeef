/** A real server started on this machine for development and tests, as a child process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

/** How long a server may take to answer its first call: other work may share the machine. */
const readyMsMax = 120_000;
/** Lines of its log that are reported when it does not start. */
const linesShownMax = 20;
/** How long it may take to end when asked to. */
const stopMsMax = 20_000;

export interface LocalServer {
  readonly name: string;
  /** What the service's setting for it takes. */
  readonly url: string;
  readonly process: ChildProcess;
  /** Asks it to end; ends it when it does not. Safe to call twice. */
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly name: string;
  readonly url: string;
  readonly command: readonly [string, ...string[]];
  readonly env?: NodeJS.ProcessEnv;
  /** Its output goes to this file. */
  readonly logFile: string;
  /** Its standard input stays open until it is stopped; some servers end with it. */
  readonly keepsInput?: boolean;
  /** Asks it to end; SIGTERM when left out. */
  readonly stopSignal?: NodeJS.Signals;
  /** Whether it answers now; a throw counts as no. */
  isReady(): Promise<boolean>;
}

/** @throws with the last lines of its log when it ends while starting, or stays silent */
export async function startServer(options: ServerCommand): Promise<LocalServer> {
  const [program, ...words] = options.command;
  const child = spawn(program, words, {
    env: { ...process.env, ...options.env },
    stdio: [options.keepsInput ? "pipe" : "ignore", "pipe", "pipe"],
  });
  // The starting process may be asked to exit before it can stop the server.
  const end = (): void => void child.kill(options.stopSignal);
  process.on("exit", end);
  child.once("exit", () => process.off("exit", end));
  const log = createWriteStream(options.logFile, { flags: "a" });
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  const server: LocalServer = {
    name: options.name,
    url: options.url,
    process: child,
    stop: () => stop(child, options.stopSignal),
  };
  try {
    await whenReady(child, options);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

async function whenReady(child: ChildProcess, options: ServerCommand): Promise<void> {
  const startedAt = Date.now();
  let failure: Error | null = null;
  child.once("error", (error) => (failure = error));
  while (!(await options.isReady().catch(() => false))) {
    if (failure !== null) throw failure;
    const why = hasEnded(child) ? "ended while starting" : "did not answer in time";
    if (hasEnded(child) || Date.now() - startedAt > readyMsMax) {
      const said = await lastLinesOf(options.logFile);
      throw new Error(`${options.name} ${why}; its log is ${options.logFile}${said}`);
    }
    await pause(100);
  }
}

/** The file may already be gone: the folder belongs to a test. */
async function lastLinesOf(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  const lines = text.trimEnd().split("\n").slice(-linesShownMax).join("\n");
  return lines === "" ? ", which is empty" : `, which ends with:\n${lines}`;
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (hasEnded(child)) return;
  const exited = once(child, "exit");
  child.stdin?.end();
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
  await exited;
  clearTimeout(timer);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
