/** What tests on real servers share: whether this machine can run them, and where they live. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { clickhouseMissing } from "../../ops/servers/clickhouse.js";
import { findPostgres, postgresMissing } from "../../ops/servers/postgres.js";
import { createLogger } from "../../runtime/logger.js";
import { Releases } from "../../runtime/releases.js";

const missingOf = {
  postgres: async () => ((await findPostgres()) === null ? postgresMissing : null),
  clickhouse: () => Promise.resolve(clickhouseMissing()),
  // Asked once: Maven takes a second to report its version.
  kafka: () => (kafkaIsMissing ??= kafkaMissing()),
};
let kafkaIsMissing: Promise<string | null> | undefined;

/** Leaves the suite out where a server cannot run, saying what to install; in CI that fails. */
export async function needServers(
  context: Mocha.Context,
  ...names: readonly (keyof typeof missingOf)[]
): Promise<void> {
  const missing = await Promise.all(names.map((name) => missingOf[name]()));
  const reported = missing.filter((one) => one !== null).join("\n");
  if (reported === "") return;
  if (process.env.CI !== undefined) throw new Error(reported);
  process.stderr.write(`${reported}\n`);
  context.skip();
}

/** For what takes a minute of a machine: in CI, with real servers, and where its file is named. */
export function needTime(context: Mocha.Context): void {
  const isNamed = process.argv.some((word) => word.endsWith(".test.js"));
  if (isNamed || process.env.CI !== undefined || process.env.BACKENDS !== undefined) return;
  process.stderr.write("Left out for its time; CI=true or the name of its file runs it\n");
  context.skip();
}

async function kafkaMissing(): Promise<string | null> {
  for (const program of ["java", "mvn"]) {
    const found = await promisify(execFile)(program, ["-version"]).catch(() => null);
    if (found === null) return `Kafka needs Java 17 and Maven; there is no ${program} here`;
  }
  return null;
}

export interface ServerFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** In memory where the system has such a place: servers write much, and nothing is kept. */
export async function openServerFolder(name: string): Promise<ServerFolder> {
  const base = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  const path = await mkdtemp(join(base, `revenue-${name}-`));
  // Postgres may run as another user, who has to pass.
  await chmod(path, 0o755);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** The folder of a suite on real servers, and the servers and clients that end with it. */
export interface SuiteServers {
  /** Made before the suite's own hooks run. */
  readonly folder: string;
  /** Stops or closes it after the suite, the last one first. @returns what it was given */
  keep<One extends Endable>(one: One): One;
}

type Endable = { stop(): Promise<void> } | { close(): Promise<void> };

/**
 * To be called first in a `describe`, which is left out where one of the servers cannot run.
 * @param takesTime false: it is short enough to be run everywhere (`needTime`)
 */
export function suiteOnServers(
  suite: string,
  names: readonly (keyof typeof missingOf)[],
  { takesTime = true } = {},
): SuiteServers {
  const releases = new Releases(createLogger("silent"));
  let folder: ServerFolder | undefined;
  before(async function () {
    if (takesTime) needTime(this);
    await needServers(this, ...names);
    folder = await openServerFolder(suite);
  });
  after(async () => {
    await releases.release();
    await folder?.remove();
  });
  return {
    get folder() {
      return folder?.path ?? "";
    },
    keep(one) {
      releases.push(suite, () => ("stop" in one ? one.stop() : one.close()));
      return one;
    },
  };
}
