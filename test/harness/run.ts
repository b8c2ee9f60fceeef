/**
 * A run of the tests: one process that leads, and its workers (.mocharc.cjs), or one process that
 * does both. Loaded first in each. All that tests write lies in one folder, in memory where there
 * is room, since most of what a test waits for is files made and synced; `TMPDIR` says where else.
 * The leader removes it at the end, whatever became of its workers.
 */
import {
  accessSync,
  chmodSync,
  constants,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const memory = "/dev/shm";
/** A container often has 64 MiB there; a service of ours wants some hundreds. */
const bytesMin = 4 * 1024 ** 3;
const releaseWithinMs = 20_000;
/** Of Java: half the work until a broker answers, and none here lives long enough for the rest. */
const quickStart = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";
const failuresPrefix = "not-released-";

const isWorker = process.env["MOCHA_WORKER_ID"] !== undefined;
/** Where all that is written lies; `tmpdir()` from here on. */
export const runFolder = isWorker ? tmpdir() : openFolder();
process.on("exit", () => {
  if (!isWorker || !process.connected) removeFolder();
});

/**
 * Releases what this process holds for all its files, after the last of them; a failure fails the
 * run. Called once (`testReleases`): the pool of a worker keeps one handler. In a worker each file
 * is a run of its own to mocha, so that no root hook comes last.
 */
export function atEndOfRun(release: () => Promise<void>): void {
  if (isWorker) return atEndOfWorker(() => inTime(release));
  after(async function releaseAll() {
    this.timeout(releaseWithinMs);
    await release();
  });
}

/** Called by mocha in the leader, when all workers have ended. */
export function mochaGlobalTeardown(): void {
  const failures = readdirSync(runFolder).filter((name) => name.startsWith(failuresPrefix));
  const reported = failures.map((name) => readFileSync(join(runFolder, name), "utf8"));
  if (reported.length > 0)
    throw new Error(`a worker could not release all: ${reported.join("\n")}`);
}

function openFolder(): string {
  const isGiven = process.env["TMPDIR"] !== undefined;
  const folder = mkdtempSync(join(!isGiven && hasRoom() ? memory : tmpdir(), "revenue-tests-"));
  // Postgres may run as another user, who has to pass.
  chmodSync(folder, 0o755);
  process.env["TMPDIR"] = folder;
  process.env["JDK_JAVA_OPTIONS"] ??= quickStart;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => process.exit(1));
  }
  return folder;
}

/** A run that was broken off leaves workers that still write: the last to go removes the rest. */
function removeFolder(): void {
  try {
    rmSync(runFolder, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    process.stderr.write(`${runFolder} could not be removed: ${String(error)}\n`);
  }
}

function hasRoom(): boolean {
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= bytesMin;
  } catch {
    return false;
  }
}

/** By the pool that mocha takes, from where mocha takes it: another copy would not be asked. */
function atEndOfWorker(end: () => Promise<void>): void {
  const requireAsMocha = createRequire(createRequire(import.meta.url).resolve("mocha"));
  const pool: unknown = requireAsMocha("workerpool");
  if (!isPool(pool)) throw new Error("mocha's pool of workers cannot say when a worker ends");
  pool.worker({}, { onTerminate: end });
}

interface Pool {
  worker(methods: object, options: { readonly onTerminate: () => Promise<void> }): void;
}
function isPool(value: unknown): value is Pool {
  return (
    typeof value === "object" &&
    value !== null &&
    "worker" in value &&
    typeof value.worker === "function"
  );
}

/** The worker ends with success however this ends: the leader reads what went wrong. */
async function inTime(release: () => Promise<void>): Promise<void> {
  // After a second the pool asks again, less politely.
  process.on("SIGTERM", () => {});
  const late = pause(releaseWithinMs).then(() => {
    throw new Error(`not within ${releaseWithinMs} ms`);
  });
  try {
    await Promise.race([release(), late]);
  } catch (error) {
    const reported = error instanceof Error ? (error.stack ?? error.message) : String(error);
    writeFileSync(join(runFolder, `${failuresPrefix}${process.pid}`), reported);
  }
}
