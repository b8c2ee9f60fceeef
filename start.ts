/** Starts roles on open backends behind one HTTP server. */
import { once } from "node:events";
import type { IncomingMessage, Server as HttpServer } from "node:http";
import { type AddressInfo, type Server, createServer } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import Router from "@koa/router";
import { diskGauge, ratesGauge } from "./http/gauges.js";
import { createApp } from "./http/app.js";
import { refuseIngest } from "./http/refuse-ingest.js";
import { notFound } from "./schemas/http/errors.js";
import { healthRoutes, metricsRoute } from "./http/health.js";
import { createHttpServer, refuseRaw } from "./http/server.js";
import { StoreUnavailable } from "./stores/clickhouse/clickhouse.js";
import { type LogUse, LogUnavailable, LogUnreadable } from "./stores/log/log.js";
import type { Logger } from "./runtime/logger.js";
import { drawSetupLink } from "./workspaces/members/first-run.js";
import { openService } from "./runtime/start/open.js";
import type { StartStep } from "./runtime/start/greeting.js";
import { PostgresUnavailable } from "./stores/postgres/postgres.js";
import { Releases } from "./runtime/releases.js";
import type { Service } from "./service.js";
import { type Config, ConfigError, limits, embeddedBackends } from "./config.js";

interface Role {
  readonly logUse: LogUse;
  /** Mounts its routes, starts its consumers, registers their releases. */
  start(service: Service): Promise<void>;
}

/** Only the roles asked for are loaded. */
const roles = {
  ingest: (): Promise<Role> => import("./ingest/role.js"),
  processors: (): Promise<Role> => import("./processors/role.js"),
  api: (): Promise<Role> => import("./api/role.js"),
};
export type RoleName = keyof typeof roles;
export const roleNames: readonly RoleName[] = ["ingest", "processors", "api"];

export function isRoleName(name: string): name is RoleName {
  return Object.hasOwn(roles, name);
}

export interface Started {
  readonly service: Service;
  /** Where the server listens, `http://localhost:3000`. */
  readonly url: string;
  /** Null where `/metrics` is served there, too. */
  readonly metricsUrl: string | null;
  readonly made: readonly string[];
  /** Of the link that makes an owner; null: there is one, or no dashboard here. */
  readonly setupToken: string | null;
  /** Closes the endpoints, ends running work, closes the backends. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * A start that fails has released what it had opened when this rejects. A server that goes away
 * during a start is waited for: the start begins again.
 * @param stopping ends the start at its next step, which then rejects
 * @param onStep gets each step of the start
 */
export async function start(
  config: Config,
  names: readonly RoleName[],
  logger: Logger,
  stopping?: AbortSignal,
  onStep: (step: StartStep) => void = () => undefined,
): Promise<Started> {
  const until = performance.now() + limits.startPatienceMsMax;
  for (;;) {
    try {
      return await startOnce(config, names, logger, stopping, onStep);
    } catch (error) {
      if (stopping?.aborted) throw error;
      const isServer = embeddedBackends(config).length === 0 && isServerAway(error);
      if (!isServer || performance.now() > until) throw error;
      logger.warn({ err: error }, "a server went away during the start, which begins again");
      await pause(startAgainMs, undefined, stopping && { signal: stopping });
    }
  }
}

const startAgainMs = 1_000;

function isServerAway(error: unknown): boolean {
  return [LogUnavailable, LogUnreadable, PostgresUnavailable, StoreUnavailable].some(
    (away) => error instanceof away,
  );
}

async function startOnce(
  config: Config,
  names: readonly RoleName[],
  logger: Logger,
  stopping: AbortSignal | undefined,
  onStep: (step: StartStep) => void,
): Promise<Started> {
  const embedded = embeddedBackends(config);
  if (embedded.length > 0 && names.length < roleNames.length) {
    throw new ConfigError([
      `roles: ${names.join(", ")} cannot run alone. An embedded backend serves one process, ` +
        `which must run all roles; set ${embedded.join(", ")} to run them apart`,
    ]);
  }
  await refuseBusyPort("PORT", config.PORT);
  await refuseBusyPort("METRICS_PORT", config.METRICS_PORT ?? 0);
  onStep("port");
  const releases = new Releases(logger);
  try {
    const withoutClickHouse = names.every((name) => name === "ingest");
    const loaded = await Promise.all(names.map((name) => roles[name]()));
    const logUse = together(loaded);
    const withoutState = !names.includes("processors");
    const use = { withoutClickHouse, withoutState, logUse };
    const options = { logger, releases, ...use, stopping, onStep };
    const { service, made } = await openService(config, options);
    healthRoutes(service.router, service);
    ratesGauge(service);
    if (embedded.length > 0) diskGauge(service.metrics, config);
    await service.rates.catchUp();
    onStep("roles");
    for (const role of loaded) {
      stopping?.throwIfAborted();
      await role.start(service);
    }
    stopping?.throwIfAborted();
    if (!names.includes("ingest")) refuseIngest(service.router);
    const setupToken = names.includes("api")
      ? await drawSetupLink(service.postgres, new Date())
      : null;
    const metricsUrl = await serveMetrics(service);
    const url = await listen(service);
    return { service, url, metricsUrl, made, setupToken, stop: () => releases.release() };
  } catch (error) {
    // The first failure is what a person needs to see; those of the releases are in the log.
    await releases.release().catch(() => undefined);
    throw error;
  }
}

/** What all roles do with the log. */
export async function useOfAllRoles(): Promise<LogUse> {
  return together(await Promise.all(Object.values(roles).map((load) => load())));
}

function together(loaded: readonly Role[]): LogUse {
  const uses = loaded.map(({ logUse }) => logUse);
  return {
    reads: [...new Set(uses.flatMap(({ reads }) => reads))],
    appends: [...new Set(uses.flatMap(({ appends }) => appends))],
    consumes: uses.flatMap(({ consumes }) => consumes),
  };
}

/** On the port of the service, or on a port of its own that callers need not reach. */
async function serveMetrics(service: Service): Promise<string | null> {
  const { METRICS_PORT: port } = service.config;
  if (port === undefined) {
    metricsRoute(service.router, service);
    return null;
  }
  const router = new Router();
  metricsRoute(router, service);
  const server = createHttpServer(createApp({ ...service, router }), service);
  await listening(server, "METRICS_PORT", port);
  service.releases.push("metrics", async () => {
    server.close();
    server.closeAllConnections();
  });
  return `http://localhost:${portOf(server.address())}/metrics`;
}

/** Opens the endpoints; they close before anything else is released. */
async function listen(service: Service): Promise<string> {
  let stopping = false;
  const server = createHttpServer(
    createApp(service, () => stopping),
    service,
    (request, socket, head) => upgrade(service, request, socket, head),
  );
  const calls = countCalls(server);
  await listening(server, "PORT", service.config.PORT);
  service.releases.push("endpoints", async () => {
    stopping = true;
    server.close();
    server.closeIdleConnections();
    await calls.ended(limits.openCallsMsMax);
    server.closeAllConnections();
  });
  return `http://localhost:${portOf(server.address())}`;
}

type PortSetting = "PORT" | "METRICS_PORT";

/**
 * Before anything is opened or waited for.
 * @throws ConfigError
 */
async function refuseBusyPort(setting: PortSetting, port: number): Promise<void> {
  const server = createServer();
  await listening(server, setting, port);
  server.close();
  await once(server, "close");
}

/** @throws ConfigError when the port is not available */
async function listening(server: Server, setting: PortSetting, port: number): Promise<void> {
  try {
    server.listen(port);
    await once(server, "listening");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    const why = code === "EACCES" ? "is not allowed to this user" : "is in use";
    throw new ConfigError([`${setting}: ${port} ${why}; set ${setting} to another one`]);
  }
}

function upgrade(service: Service, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  // A slash at the end makes no other path, as for all other calls.
  const take = service.upgrades.get(path.replace(/\/$/, ""));
  if (take) return take(request, socket, head);
  // A peer that is gone already would end the process with an unhandled error.
  socket.on("error", () => socket.destroy());
  const error = notFound("path_unknown", "There is nothing at this path.");
  refuseRaw(socket, error, service, request);
}

function countCalls(server: HttpServer): { ended(msMax: number): Promise<void> } {
  let open = 0;
  let onNone = (): void => {};
  server.on("request", (_request, response) => {
    open += 1;
    response.once("close", () => {
      open -= 1;
      if (open === 0) onNone();
    });
  });
  return {
    ended: (msMax) =>
      new Promise((resolve) => {
        if (open === 0) return resolve();
        const timer = setTimeout(resolve, msMax);
        onNone = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return address.port;
}
