/** One process of a role, kept running as a container's restart policy would. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RoleName } from "../../start.js";

const entry = fileURLToPath(new URL("../../main.js", import.meta.url));
const heap = "--max-old-space-size=320";
const restartMs = 1_000;
/** The service ends itself before that when it is asked to. */
const stopMsMax = 20_000;

export interface RoleOptions {
  readonly name: string;
  readonly role: RoleName;
  readonly port: number;
  /** Where it runs and what it says is kept. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

export class RoleUnit {
  /** Exit codes and signals of ends that nobody asked for. */
  readonly ownEnds: string[] = [];
  readonly logFile: string;
  /** `http://127.0.0.1:<port>` */
  readonly base: string;
  #child: ChildProcess | null = null;
  #isWanted = false;

  constructor(private readonly options: RoleOptions) {
    this.logFile = join(options.folder, `${options.name.replace(" ", "-")}.log`);
    this.base = `http://127.0.0.1:${options.port}`;
  }

  get name(): string {
    return this.options.name;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Does not wait until it answers. */
  start(): void {
    this.#isWanted = true;
    const { role, port, folder, env } = this.options;
    const log = openSync(this.logFile, "a");
    const child = spawn(process.execPath, [heap, entry, role], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...env, PORT: String(port) },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    this.#child = child;
    child.once("exit", (code, signal) => {
      if (!this.#isWanted || this.#child !== child) return;
      this.ownEnds.push(signal ?? String(code));
      setTimeout(() => {
        if (this.#isWanted && this.#child === child) this.start();
      }, restartMs);
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Resolves when it is gone. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#isWanted = false;
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
    await exited;
    clearTimeout(timer);
  }

  async isReady(): Promise<boolean> {
    try {
      const answer = await fetch(`${this.base}/readyz`, { signal: AbortSignal.timeout(5_000) });
      await answer.arrayBuffer();
      return answer.ok;
    } catch {
      return false;
    }
  }

  /** @throws when it does not answer in time */
  async whenReady(msMax: number): Promise<void> {
    const startedAt = Date.now();
    while (!(await this.isReady())) {
      if (Date.now() - startedAt > msMax) throw new Error(`${this.name} is not ready in time`);
      await pause(200);
    }
  }
}
