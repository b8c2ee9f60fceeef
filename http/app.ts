/**
 * The one Koa application. The life of a call: it gets an id, the time is taken, the router finds
 * its handler, and every error becomes the error envelope in one place.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Stream } from "node:stream";
import type { Layer } from "@koa/router";
import Koa, { type Context, type Next } from "koa";
import { isNotAllowed } from "../stores/clickhouse/errors.js";
import { StoreBusy, StoreUnavailable } from "../stores/clickhouse/clickhouse.js";
import {
  AppendUncertain,
  LogUnavailable,
  LogUnreadable,
  RecordTooLarge,
} from "../stores/log/log.js";
import { PostgresUnavailable } from "../stores/postgres/postgres.js";
import type { Config } from "../config.js";
import type { Service } from "../service.js";
import { LogThrottle } from "../runtime/log-throttle.js";
import {
  ApiError,
  errorEnvelope,
  internal,
  malformed,
  methodNotAllowed,
  notFound,
  tooLarge,
  unavailable,
} from "../schemas/http/errors.js";

type AppService = Pick<Service, "limits" | "logger" | "metrics" | "router"> & {
  readonly config?: Trust;
};

/** @param isStopping true from the moment the process was asked to stop: new calls get 503 */
export function createApp(service: AppService, isStopping: () => boolean = () => false): Koa {
  const trust: Trust = service.config ?? { TRUST_PROXY: "off" };
  const app = new Koa({ proxy: trust.TRUST_PROXY === "on" });
  const outages = new LogThrottle();
  // Reached only by errors after the answer began: a peer that went away.
  app.on("error", (error: unknown) => service.logger.debug({ err: error }, "answer cut short"));
  app.use(answer);
  app.use(crossOrigin);
  app.use(service.router.routes());
  app.use(noRoute);
  return app;

  async function answer(ctx: Context, next: Next): Promise<void> {
    const startedAt = performance.now();
    ctx.state.requestId = requestIdOf(ctx.req, trust);
    ctx.request.ip = addressOf(ctx.req, trust);
    ctx.set("X-Request-Id", ctx.state.requestId);
    // Answers repeat what callers wrote; no browser may read one as a page.
    ctx.set("X-Content-Type-Options", "nosniff");
    // No proxy or browser is to keep a business's figures, names and keys.
    ctx.set("Cache-Control", "no-store");
    try {
      if (isStopping()) throw stopping();
      checkRequest(ctx);
      await next();
      endLine(ctx);
    } catch (thrown) {
      const error = await service.limits.refuse(ctx, knownError(thrown));
      const isExpected = thrown instanceof ApiError && thrown.cause === undefined;
      if (error.status >= 500 && !isExpected) reportFailure(ctx, error, thrown);
      const { status, code } = error;
      service.logger.debug({ ...callOf(ctx), status, code }, "call refused");
      ctx.status = error.status;
      ctx.set(error.headers);
      ctx.body = errorEnvelope(error, ctx.state.requestId);
      endLine(ctx);
    }
    service.metrics.requestSeconds.observe(
      { route: routeOf(ctx), method: knownMethod(ctx.method), status: String(ctx.status) },
      (performance.now() - startedAt) / 1_000,
    );
  }

  function reportFailure(ctx: Context, error: ApiError, thrown: unknown): void {
    // Each mistake of ours is logged; an unavailable server would log the same for each call.
    const suppressed = error.type === "internal" ? 0 : outages.turn(error.code);
    if (suppressed === null) return;
    const more = suppressed > 0 ? { alike_before: suppressed } : {};
    service.logger.error({ err: thrown, ...callOf(ctx), ...more }, "request failed");
  }

  function callOf(ctx: Context) {
    const { method, state } = ctx;
    return { request_id: state.requestId, method, path: pathWithoutSecret(ctx.path) };
  }
}

/** @throws ApiError 400 */
function checkRequest({ host, path, req }: Context): void {
  // HTTP/1.0 has no Host, and some load balancers still use it for health checks.
  if (req.headers.host === undefined && req.httpVersion !== "1.0") {
    throw malformed("host_missing", "A request needs a Host header.", "Host");
  }
  // Proxies differ in which of two they believe, and Node keeps the first.
  if (req.rawHeaders.filter((name, at) => at % 2 === 0 && isHost.test(name)).length > 1) {
    throw malformed("host_repeated", "A request has one Host header.", "Host");
  }
  // Shown URLs begin with it where PUBLIC_URL is not set.
  for (const name of [req.headers.host ?? "", host]) {
    if (name !== "" && !hostAndPort.test(name)) {
      throw malformed("host_malformed", "The Host header is not a host with its port.", "Host");
    }
  }
  const { expect } = req.headers;
  if (expect !== undefined && expect.toLowerCase() !== "100-continue") {
    const message = "Nothing but Expect: 100-continue is understood.";
    throw new ApiError(417, "invalid_request", "expectation_unknown", message, { param: "Expect" });
  }
  // An unreadable URL of a webhook is an unknown one.
  if (!isReadable(path) && !path.startsWith("/v1/webhooks/")) {
    throw malformed("path_malformed", "The path is malformed.");
  }
}

const isHost = /^host$/i;
const hostAndPort = /^(?:[\w.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

function endLine(ctx: Context): void {
  const body: unknown = ctx.body;
  const isJson = typeof body === "object" && body !== null && !ArrayBuffer.isView(body);
  if (isJson && !(body instanceof Stream)) ctx.body = `${JSON.stringify(body)}\n`;
}

/** The router would accept what it cannot decode. No id holds a NUL. */
function isReadable(path: string): boolean {
  if (!path.includes("%")) return true;
  try {
    return !decodeURIComponent(path).includes("\0");
  } catch {
    return false;
  }
}

/** Behind the router: the path is unknown, or known with another method. */
function noRoute(ctx: Context): void {
  const all: readonly Layer[] = ctx.matched ?? [];
  // A pattern is the page for unknown paths (api/dashboard.ts).
  const matched = all.filter(({ path }) => typeof path === "string");
  // A path that is written out wins over one with a placeholder.
  const exact = matched.filter((layer) => !String(layer.path).includes(":"));
  const layers = exact.length > 0 ? exact : matched;
  const allowed = new Set(layers.flatMap((layer) => layer.methods));
  // If the method is known, a route rejected the path: no id looks like that.
  throw allowed.size > 0 && !allowed.has(ctx.method)
    ? methodNotAllowed([...allowed].sort().join(", "))
    : notFound("path_unknown", "There is nothing at this path.");
}

function stopping(): ApiError {
  return new ApiError(503, "unavailable", "stopping", "The service is stopping; call again.", {
    headers: { "Retry-After": "1", Connection: "close" },
  });
}

/** What was thrown, in a form that a caller may see. */
export function knownError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof AppendUncertain) {
    return unavailable(
      "log_unavailable",
      "Events cannot be taken now, and these may have been: send them again under the same ids " +
        "(event_id, or the same Idempotency-Key), so that they count once.",
    );
  }
  if (thrown instanceof LogUnavailable) {
    return unavailable("log_unavailable", "Events cannot be accepted now; nothing was stored.");
  }
  if (thrown instanceof RecordTooLarge) {
    return tooLarge("An event of the call is larger than the log takes; nothing was taken.");
  }
  if (thrown instanceof LogUnreadable) {
    return unavailable(
      "log_unreadable",
      "The progress of booking is unknown right now; call again.",
    );
  }
  if (thrown instanceof PostgresUnavailable) {
    return unavailable("metadata_unavailable", "Postgres cannot be had now; call again.");
  }
  // Somebody may grant the right again; the log names the GRANT.
  const isAway = thrown instanceof StoreUnavailable || isNotAllowed(thrown);
  if (isAway || thrown instanceof StoreBusy) {
    return unavailable("store_unavailable", "The figures cannot be read now.");
  }
  return internal();
}

/** The pattern, not the path: a metric must not grow by what callers invent. */
function routeOf(ctx: Context): string {
  return typeof ctx._matchedRoute === "string" ? ctx._matchedRoute : "none";
}

const methods = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]);

function knownMethod(method: string): string {
  return methods.has(method) ? method : "other";
}

const openPaths = /^\/(?:mcp|oauth\/\w+|\.well-known\/oauth-[\w/-]+)$/;
const preflightSeconds = 24 * 60 * 60;

/** CORS, for programs in browsers: they call with a token of their own, never with a cookie. */
async function crossOrigin(ctx: Context, next: Next): Promise<void> {
  if (!openPaths.test(ctx.path)) return next();
  // "*" keeps browsers from sending a session, so a page can do no more here than any program.
  ctx.set("Access-Control-Allow-Origin", "*");
  ctx.set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After, X-Request-Id");
  if (ctx.method !== "OPTIONS" || ctx.get("Access-Control-Request-Method") === "") return next();
  ctx.set("Access-Control-Allow-Methods", "GET, POST");
  // New versions of the protocol add headers.
  ctx.set("Access-Control-Allow-Headers", ctx.get("Access-Control-Request-Headers"));
  ctx.set("Access-Control-Max-Age", String(preflightSeconds));
  ctx.status = 204;
}

/**
 * What is known of a caller before a key is read: behind a proxy (`TRUST_PROXY`) by its headers,
 * which otherwise anybody could write.
 */
export type Trust = Pick<Config, "TRUST_PROXY">;

/** The proxy's id if it is fit for a log line, else a new one. */
export function requestIdOf({ headers }: IncomingMessage, { TRUST_PROXY }: Trust): string {
  const given = headers["x-request-id"];
  const isKept = TRUST_PROXY === "on" && typeof given === "string" && saneId.test(given);
  return isKept ? given : randomUUID();
}

const saneId = /^[\w.:=+/-]{1,128}$/;

/** The last address in the list is the one that the proxy itself saw. */
export function addressOf(request: IncomingMessage, { TRUST_PROXY }: Trust): string {
  const forwarded = request.headers["x-forwarded-for"];
  const seen = typeof forwarded === "string" ? forwarded.split(",").at(-1)?.trim() : undefined;
  return (TRUST_PROXY === "on" && seen) || (request.socket.remoteAddress ?? "");
}

/**
 * Keys, webhook URLs and links that unsubscribe are secrets, so a log line has the path without
 * them.
 */
export function pathWithoutSecret(path: string): string {
  return path
    .replace(/^(\/v1\/webhooks\/|\/unsubscribe\/).+/, "$1…")
    .replace(/svc_(?:live|test)_\w*/g, "svc_…");
}
