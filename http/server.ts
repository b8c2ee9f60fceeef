/**
 * The HTTP server around the app: its time limits, and answers to what the app never sees, such as
 * calls that are not HTTP or ask for another protocol.
 */
import { randomUUID } from "node:crypto";
import {
  type IncomingMessage,
  STATUS_CODES,
  type Server,
  type ServerResponse,
  createServer,
} from "node:http";
import type { Duplex } from "node:stream";
import type Koa from "koa";
import type { Logger } from "../runtime/logger.js";
import { pathWithoutSecret, requestIdOf, type Trust } from "./app.js";
import { ApiError, errorEnvelope } from "../schemas/http/errors.js";

const headersMsMax = 10_000;
/** For a whole body of 16 MiB on a slow line. */
const requestMsMax = 60_000;
/** Longer than the idle time of usual load balancers, so that they close first. */
const keepAliveMs = 65_000;

/** Takes over the connection of a call that asks for a WebSocket. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface RawCalls {
  readonly config: Trust;
  readonly logger: Logger;
}

export function createHttpServer(app: Koa, calls?: RawCalls, upgrade?: Upgrade): Server {
  const handle = app.callback();
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    countUntilAnswered(response);
    void handle(request, response);
  };
  const server = createServer(
    {
      headersTimeout: headersMsMax,
      requestTimeout: requestMsMax,
      keepAliveTimeout: keepAliveMs,
      // The app answers this itself, in the envelope.
      requireHostHeader: false,
    },
    take,
  );
  server.on("clientError", (error, socket) => answerMalformed(error, socket, calls));
  // The app answers this, too.
  server.on("checkExpectation", take);
  if (upgrade === undefined) return server;
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (/\bwebsocket\b/i.test(request.headers.upgrade ?? "")) upgrade(request, socket, head);
    else whenAnswered(socket, () => answerAsIs(server, request, socket, head));
  });
  return server;
}

/** Unsent answers of each connection that has any, and what waits for them. */
const unanswered = new WeakMap<Duplex, { count: number; waiting: (() => void) | null }>();

function countUntilAnswered(response: ServerResponse): void {
  // A response knows its connection only once those before it are sent.
  const { socket } = response.req;
  const open = unanswered.get(socket) ?? { count: 0, waiting: null };
  unanswered.set(socket, open);
  open.count += 1;
  response.once("close", () => {
    open.count -= 1;
    if (open.count > 0) return;
    unanswered.delete(socket);
    open.waiting?.();
  });
}

/**
 * Node forgets pending answers of a connection when it gives the connection away. So what is read
 * again waits until they are sent.
 */
function whenAnswered(socket: Duplex, then: () => void): void {
  const open = unanswered.get(socket);
  if (open === undefined) return then();
  const ignore = (): void => undefined;
  socket.on("error", ignore);
  open.waiting = () => {
    socket.off("error", ignore);
    if (!socket.destroyed) then();
  };
}

/**
 * Java's HttpClient and `curl --http2` offer HTTP/2 with their first call. A server may ignore that
 * (RFC 9110, 7.8), but Node cannot once it upgrades anything, so the call is read again without the
 * offer.
 */
function answerAsIs(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (const [index, name] of request.rawHeaders.entries()) {
    const isOffer = /^(?:upgrade|http2-settings)$/i.test(name);
    if (index % 2 === 1 || isOffer) continue;
    const value = request.rawHeaders[index + 1] ?? "";
    const kept = /^connection$/i.test(name) ? withoutOffer(value) : value;
    lines.push(`${name}: ${kept}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

function withoutOffer(connection: string): string {
  const words = connection.split(",").map((word) => word.trim());
  return words.filter((word) => !/^(?:upgrade|http2-settings)$/i.test(word)).join(", ");
}

function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex, calls?: RawCalls): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  refuseRaw(socket, protocolErrors[error.code ?? ""] ?? notHttp, calls);
}

const notHttp = new ApiError(400, "invalid_request", "http_malformed", "This is not HTTP.");

const protocolErrors: Readonly<Record<string, ApiError>> = {
  HPE_HEADER_OVERFLOW: new ApiError(
    431,
    "invalid_request",
    "headers_too_large",
    "The headers are too large.",
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new ApiError(
    408,
    "invalid_request",
    "request_timeout",
    "The request did not arrive in time.",
  ),
};

/** Refuses a call that has no response object: a malformed one, or one that asks to upgrade. */
export function refuseRaw(
  socket: Duplex,
  error: ApiError,
  calls?: RawCalls,
  request?: IncomingMessage,
): void {
  const isKnown = calls !== undefined && request !== undefined;
  const requestId = isKnown ? requestIdOf(request, calls.config) : randomUUID();
  const { status, code } = error;
  const path = pathWithoutSecret((request?.url ?? "").split("?", 1)[0] ?? "");
  calls?.logger.debug({ request_id: requestId, path, status, code }, "call refused");
  socket.end(rawAnswer(error, requestId), () => socket.destroy());
}

function rawAnswer(error: ApiError, requestId: string): string {
  const body = `${JSON.stringify(errorEnvelope(error, requestId))}\n`;
  const headers = {
    ...error.headers,
    "X-Request-Id": requestId,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `${error.status} ${STATUS_CODES[error.status] ?? "Error"}`;
  return `HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${body}`;
}
