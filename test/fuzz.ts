/**
 * The proof for as long as you like: `npm run fuzz -- --minutes 10 --seed 1`. Cases are those of
 * pipeline/proof.ts. They run in a child process with a data folder of its own, which is replaced
 * every so many portfolios, so that an hour takes no more memory than a minute. A failure prints
 * its seed and the smallest case found; what was seen is reported at the end and on SIGINT.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { z } from "zod";
import { createLogger } from "../runtime/logger.js";
import { openLmdbLog } from "../stores/log/lmdb/lmdb-log.js";
import { readConfig } from "../config.js";
import { countOf, readWords } from "../ops/command-line.js";
import { roleNames, start } from "../start.js";
import { lmdbTopics } from "./log/log-topics.js";
import { poison } from "./poison-fuzz.js";
import { runSimulated } from "./simulation/run.js";
import { casesUntil, endOfYesterday, nothingSeen, prove } from "./pipeline/proof.js";

const portfoliosPerFolder = 100;
/** Shrinking a failure goes on for this long after the time is over. */
const graceMs = 10 * 60_000;

const usage = `npm run fuzz -- [options]
  --minutes <n>   of cases (10)
  --seed <n>      of a run that is to be repeated
  --path <path>   of the one case to be repeated, as a failure reports it
  --poison        odd values in any field through the endpoints instead (poison-fuzz.ts)
  --simulated <n> so many portfolios over stores in memory instead (simulation/simulation.ts)
`;
const { values } = readWords(usage, {
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(1 + (Date.now() % 1_000_000)) },
    path: { type: "string" },
    worker: { type: "boolean", default: false },
    poison: { type: "boolean", default: false },
    simulated: { type: "string" },
  },
});
const seedMax = 1_000_000_000;
const portfoliosMax = 10_000_000;
const seed = countOf(usage, "seed", values.seed, seedMax);
const minutes = countOf(usage, "minutes", values.minutes, 7 * 24 * 60);
if (values.worker) await work();
else process.exitCode = await other();

/** @returns the exit code */
function other(): Promise<number> {
  const { simulated, path } = values;
  if (simulated === undefined) return values.poison ? poison(minutes, seed) : lead();
  return runSimulated(countOf(usage, "simulated", simulated, portfoliosMax), seed, path);
}

/** @returns the exit code */
async function lead(): Promise<number> {
  const until = Date.now() + minutes * 60_000;
  const seen: Record<string, number> = { ...nothingSeen() };
  let child: ChildProcess | null = null;
  const stopping = new AbortController();
  process.on("SIGINT", () => {
    stopping.abort();
    child?.kill("SIGKILL");
  });
  let failed = false;
  for (let folder = 0; !failed && !stopping.signal.aborted && Date.now() < until; folder += 1) {
    const path = values.path === undefined ? [] : ["--path", values.path];
    child = fork(
      fileURLToPath(import.meta.url),
      ["--worker", "--seed", String(seed + folder), ...path],
      { env: { ...process.env, UV_THREADPOOL_SIZE: "16" } },
    );
    const before = { ...seen };
    child.on("message", (message) => {
      if (message === "failed") failed = true;
      else for (const [name, count] of countsIn(message)) seen[name] = (before[name] ?? 0) + count;
    });
    const timer = setTimeout(() => child?.kill("SIGTERM"), until - Date.now());
    const last = setTimeout(() => child?.kill("SIGKILL"), until - Date.now() + graceMs);
    const [code] = await once(child, "exit");
    clearTimeout(timer);
    clearTimeout(last);
    failed ||= code !== 0 && !stopping.signal.aborted;
    process.stdout.write(`seed ${seed + folder}: ${describe(seen)}\n`);
    if (values.path !== undefined) break;
  }
  process.stdout.write(failed ? "FAILED, see above\n" : "every figure was the model's\n");
  return failed ? 1 : 0;
}

/** One data folder's worth of cases. */
async function work(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "revenue-fuzz-"));
  const logger = createLogger("error");
  const settings = {
    PORT: "0",
    DATA_DIR: folder,
    RATES_REFRESH: "off",
    RATE_LIMIT_PER_KEY: "100000",
  };
  const started = await start(readConfig(settings), roleNames, logger);
  const log = openLmdbLog({
    path: join(folder, "log-of-the-proof"),
    topics: lmdbTopics({ partitions: 3 }),
    logger,
  });
  const { service, url } = started;
  const seen = nothingSeen();
  let isOver = false;
  let isAbandoned = false;
  process.on("SIGTERM", () => (isOver = true));
  process.on("SIGINT", () => {});
  process.on("disconnect", () => (isAbandoned = true));
  const endpoint = { base: url, adminToken: service.adminToken };
  let hasFailed = false;
  const property = fc.asyncProperty(casesUntil(endOfYesterday), async (drawn) => {
    if (isAbandoned || (isOver && !hasFailed)) return;
    try {
      await prove({ service, endpoint, log, seen }, drawn);
    } catch (error) {
      if (!hasFailed) process.stderr.write(`seed ${seed}, shrinking: ${withCause(error)}\n`);
      hasFailed = true;
      process.send?.("failed", undefined, undefined, () => {});
      throw error;
    }
    // Whoever counts may be gone: "disconnect" reports, and ends the run.
    process.send?.(seen, undefined, undefined, () => {});
  });
  const found = await fc.check(property, {
    seed,
    numRuns: portfoliosPerFolder,
    ...(values.path === undefined ? {} : { path: values.path }),
  });
  if (found.failed) {
    process.stderr.write(`${fc.defaultReportMessage(found) ?? "failed"}\n`);
    process.stderr.write(
      `repeat with: npm run fuzz -- --seed ${seed} --path ${found.counterexamplePath ?? ""}\n`,
    );
    process.exitCode = 1;
  }
  await log.close();
  await started.stop();
  rmSync(folder, { recursive: true });
  if (process.connected) process.disconnect();
}

/** A call that met no answer says why only in its cause. */
function withCause(error: unknown): string {
  const isCaused = error instanceof Error && error.cause instanceof Error;
  return isCaused ? `${String(error)} (${String(error.cause)})` : String(error);
}

function countsIn(message: unknown): [string, number][] {
  return Object.entries(z.record(z.string(), z.number()).parse(message));
}

function describe(seen: Readonly<Record<string, number>>): string {
  return Object.entries(seen)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
}
