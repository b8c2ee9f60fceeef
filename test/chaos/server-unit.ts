/** Kafka, ClickHouse or Postgres: killed and stopped with all its processes, started anew. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { LocalServer } from "../../ops/servers/server.js";

/** A server that was killed may leave something behind for a moment that the next one refuses. */
const startsMax = 10;
const startAgainMs = 1_000;

export class ServerUnit {
  #server: LocalServer | null = null;

  constructor(
    readonly name: string,
    private readonly startServer: () => Promise<LocalServer>,
  ) {}

  get url(): string {
    if (this.#server === null) throw new Error(`${this.name} does not run`);
    return this.#server.url;
  }

  /** Null: it does not run. */
  get pid(): number | null {
    const child = this.#server?.process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null;
    return child.pid ?? null;
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        this.#server = await this.startServer();
        return;
      } catch (error) {
        if (tries === startsMax) throw error;
        await pause(startAgainMs);
      }
    }
  }

  /** As by a power cut: no process of it is left. */
  async kill(): Promise<void> {
    const child = this.#server?.process;
    if (child === undefined || this.pid === null) return;
    const exited = once(child, "exit");
    this.signal("SIGKILL");
    await exited;
    child.stdin?.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    if (this.pid !== null) signalTree(this.pid, signal);
  }
}

/** To a process and all below it; those that are gone by now are passed over. */
export function signalTree(root: number, signal: NodeJS.Signals): void {
  for (const pid of treeOf(root)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      const isGone = error instanceof Error && "code" in error && error.code === "ESRCH";
      if (!isGone) throw error;
    }
  }
}

/** Parents first. */
function treeOf(root: number): number[] {
  const lines = execFileSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" }).split("\n");
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const found = [root];
  for (const parent of found) {
    for (const [pid, of] of pairs) if (of === parent && pid !== undefined) found.push(pid);
  }
  return found;
}
