/**
 * `node dist/main.js [roles…]`: runs the roles named, or all. `node dist/main.js check` prints the
 * settings as understood, without secrets, and what answers at their servers. `node dist/main.js
 * ops …` runs a command while the service is stopped (ops/operate.ts). `--help` reports all that.
 */
import { join } from "node:path";
import { isatty } from "node:tty";
import { BackupRefused } from "./stores/backup/manifest.js";
import { DataFolderRefused, tokenFile } from "./stores/data-folder.js";
import { FolderLocked } from "./stores/folder-lock.js";
import { LogUnreadable } from "./stores/log/log.js";
import { checkServers } from "./runtime/start/check.js";
import { greeting, saySteps } from "./runtime/start/greeting.js";
import { createLogger } from "./runtime/logger.js";
import { RowsLost } from "./runtime/start/lost-rows.js";
import { MigrationRefused } from "./stores/migrations.js";
import {
  SchemaRegistryRefused,
  SchemaRegistryUnavailable,
} from "./stores/log/registry/schema-registry.js";
import { ClockSetBack } from "./stores/watermark/persisted-watermark.js";
import { PostgresUnavailable } from "./stores/postgres/postgres.js";
import { OthersRun } from "./stores/postgres/exclusive-lease.js";
import {
  type Config,
  ConfigError,
  limits,
  readConfig,
  secretSettings,
  embeddedBackends,
} from "./config.js";
import { mistypedSettings } from "./ops/mistyped-settings.js";
import {
  type RoleName,
  type Started,
  isRoleName,
  roleNames,
  start,
  useOfAllRoles,
} from "./start.js";

/** Ctrl-C reaches this process twice when npm runs it: from the terminal and from npm. */
const sameSignalMs = 2_000;

const usage = `npm start                      all roles in one process
npm start -- <role> [<role>]   some of ${roleNames.join(", ")}, on servers
npm start -- check             the settings as understood, and what answers at their servers
npm run ops -- --help          commands: backups, audits, replays, moving, keys
npm run demo                   two years of a made-up business, in a folder of its own

Settings are environment variables; docs/settings.md lists them.
`;

/** Each has a sentence for a person. */
const forPerson = [
  BackupRefused,
  ClockSetBack,
  ConfigError,
  DataFolderRefused,
  FolderLocked,
  LogUnreadable,
  MigrationRefused,
  OthersRun,
  PostgresUnavailable,
  RowsLost,
  SchemaRegistryRefused,
  SchemaRegistryUnavailable,
];

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Error && forPerson.some((kind) => error instanceof kind))) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function main(words: readonly string[]): Promise<void> {
  for (const line of mistypedSettings(process.env)) process.stderr.write(`${line}\n`);
  if (words[0] === "ops") {
    process.exitCode = await runCommand(words.slice(1));
    return;
  }
  if (words.includes("--help") || words[0] === "help") {
    process.stdout.write(usage);
    return;
  }
  const config = readConfig(process.env);
  if (words.length === 1 && words[0] === "check") {
    process.stdout.write(`${describe(config)}\n\n`);
    const checked = await checkServers(config, await useOfAllRoles(), createLogger("silent"));
    process.stdout.write(`${checked.map(({ line }) => line).join("\n")}\n`);
    if (!checked.every(({ isUsable }) => isUsable)) process.exitCode = 1;
    return;
  }
  const roles = rolesOf(words);
  const role = roles.length === roleNames.length ? "all" : roles.join(",");
  const atTerminal = isatty(1);
  // The greeting covers success for a person; collectors of logs get every line.
  const level = atTerminal && !process.env.LOG_LEVEL ? "warn" : config.LOG_LEVEL;
  const logger = createLogger(level, { role });
  const fail = (error: unknown): never => {
    logger.fatal({ err: error }, "ended by an unexpected error");
    process.exit(1);
  };
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);
  if (embeddedBackends(config).length > 0 && process.env.UV_THREADPOOL_SIZE === undefined) {
    logger.warn("UV_THREADPOOL_SIZE is not set: long queries can hold up the log; use npm start");
  }

  const stopping = new AbortController();
  let stoppingSince: number | null = null;
  const stop = (signal: NodeJS.Signals): void => {
    if (stoppingSince !== null) {
      if (performance.now() - stoppingSince > sameSignalMs) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    logger.info({ signal }, "stopping");
    if (atTerminal) process.stderr.write("\nStopping…\n");
    stopping.abort();
    setTimeout(() => {
      logger.error("stopping took too long; accepted events are in the log for the next start");
      process.exit(0);
    }, limits.stopMsMax).unref();
    const stopped = (): void => {
      logger.info("stopped");
      process.exit(0);
    };
    // A start that rejects has released what it had opened.
    const stopStarted = starting.then(
      (started) => started.stop(),
      () => undefined,
    );
    stopStarted.then(stopped, fail);
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  const address = config.PORT === 0 ? {} : { url: `http://localhost:${config.PORT}` };
  logger.info({ ...address, roles }, "starting");
  const onStep = saySteps(config, (text) => process.stderr.write(text));
  const starting = start(config, roles, logger, stopping.signal, onStep);
  const started = await starting.catch((error: unknown) => {
    if (stopping.signal.aborted) return null;
    throw error;
  });
  if (started === null || stopping.signal.aborted) return;
  const { url, metricsUrl } = started;
  logger.info({ url, ...(metricsUrl === null ? {} : { metricsUrl }), roles }, "ready");
  process.stderr.write(welcome(config, roles, started));
}

/** Commands get what roles do from here, because roles do not know each other; few load it. */
async function runCommand(words: readonly string[]): Promise<number> {
  if (words[0] === "servers") {
    const { serversCommand } = await import("./ops/servers/command.js");
    return serversCommand(words.slice(1));
  }
  const { operate } = await import("./ops/operate.js");
  return operate(words, process.env, {
    audit: async (...given) => (await import("./processors/audit/audit.js")).audit(...given),
    rebuild: async (...given) => (await import("./processors/audit/rebuild.js")).rebuild(...given),
    startProcessors: async (service) => (await import("./processors/role.js")).start(service),
    writeQueued: async (service) =>
      (await import("./processors/book/table-writer.js")).writeQueued(service),
  });
}

/**
 * Every role when none is named.
 * @throws ConfigError for an unknown name
 */
function rolesOf(words: readonly string[]): readonly RoleName[] {
  const unknown = words.filter((word) => !isRoleName(word));
  if (unknown.length > 0) {
    throw new ConfigError([
      `roles: there is no ${unknown.join(", ")}; there are ${roleNames.join(", ")}, ` +
        "and by themselves check and --help",
    ]);
  }
  return words.length === 0 ? roleNames : roleNames.filter((name) => words.includes(name));
}

function describe(config: Config): string {
  return Object.entries(config)
    .map(([name, value]) => `${name}=${secretSettings.includes(name) && value ? "(set)" : value}`)
    .join("\n");
}

/** For the person at the terminal; without one, the log's lines go to standard output. */
function welcome(config: Config, roles: readonly RoleName[], started: Started): string {
  const { url, made, setupToken } = started;
  const dataFolder = embeddedBackends(config).length > 0 ? config.DATA_DIR : null;
  if (!roles.includes("api")) return `\nRunning at ${url}, on servers: ${roles.join(", ")}\n`;
  const token = join(config.DATA_DIR, tokenFile);
  const adminToken = config.ADMIN_TOKEN ? "$ADMIN_TOKEN" : `$(cat ${token})`;
  return greeting({ url, dataFolder, made, setupToken, adminToken });
}
