/** Child processes and temporary folders of a run: none outlives it, however it ends. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/** Longer than a stop of the service may take (`limits.stopMsMax`). */
const stopMsMax = 12_000;

const running = new Set<ChildProcess>();
const folders = new Set<string>();
process.on("exit", () => {
  for (const child of running) signalTo(child, "SIGKILL");
  for (const folder of folders) rmSync(folder, removal);
});

const removal = { recursive: true, force: true, maxRetries: 3 };

export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "revenue-bench-"));
  folders.add(folder);
  try {
    return await use(folder);
  } finally {
    rmSync(folder, removal);
    folders.delete(folder);
  }
}

/** Ends a detached child with this process, should `stopChild` never come to it. */
export function track(child: ChildProcess): void {
  running.add(child);
  child.once("close", () => running.delete(child));
}

/** Ends a tracked child and waits for it: politely, then for certain. */
export async function stopChild(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return;
  const closed = once(child, "close");
  signalTo(child, "SIGTERM");
  const isLate = await Promise.race([
    closed.then(() => false),
    pause(stopMsMax, true, { ref: false }),
  ]);
  if (isLate) signalTo(child, "SIGKILL");
  await closed;
}

/** Each leads a group (`npm start` has children): all of it is signalled. */
function signalTo(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // It ended by itself in the meantime.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/**
 * Runs this program as `--child <name>` and gives `use` the first message it sends; then ends it.
 * @throws when the child ends without a message
 */
export async function withChild<T>(
  name: string,
  words: readonly string[],
  use: (message: unknown) => Promise<T> | T,
): Promise<T> {
  const child = fork(program, ["--child", name, ...words], {
    env: { ...process.env, UV_THREADPOOL_SIZE: "16" },
    detached: true,
  });
  track(child);
  try {
    const first = await Promise.race([
      once(child, "message").then(([message]): { message: unknown } => ({ message })),
      once(child, "close").then(([code]): number => Number(code)),
    ]);
    if (typeof first === "number") throw new Error(`child ${name} ended with ${first}`);
    return await use(first.message);
  } finally {
    await stopChild(child);
  }
}

const program = fileURLToPath(new URL("../bench.js", import.meta.url));

/** What a child that serves has to say. */
export const portMessage = z.object({ port: z.int() });

/** In a child: what it has to say. */
export function report(message: object): void {
  if (process.send === undefined) throw new Error("this runs as a child of the benchmark");
  process.send(message);
}
