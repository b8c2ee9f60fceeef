/** The HTTP server around the app: its time limits, and an answer to what is not even HTTP. */
import { randomUUID } from "node:crypto";
import { type Server, createServer } from "node:http";
import type { Duplex } from "node:stream";
import type Koa from "koa";
import { ApiError, errorEnvelope } from "./errors.js";

const headersMsMax = 10_000;
/** For a whole body of 16 MiB on a slow line. */
const requestMsMax = 60_000;
/** Longer than the idle time of usual load balancers, so that they close first. */
const keepAliveMs = 65_000;

export function createHttpServer(app: Koa): Server {
  const handle = app.callback();
  const server = createServer(
    {
      headersTimeout: headersMsMax,
      requestTimeout: requestMsMax,
      keepAliveTimeout: keepAliveMs,
      // The app answers this itself, in the envelope.
      requireHostHeader: false,
    },
    (request, response) => void handle(request, response),
  );
  server.on("clientError", answerMalformed);
  return server;
}

function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(rawAnswer(protocolErrors[error.code ?? ""] ?? notHttp));
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

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  503: "Service Unavailable",
};

/** A whole HTTP answer, for sockets that have no response object (malformed calls, upgrades). */
export function rawAnswer(error: ApiError): string {
  const requestId = randomUUID();
  const body = JSON.stringify(errorEnvelope(error, requestId));
  const headers = {
    ...error.headers,
    "X-Request-Id": requestId,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `${error.status} ${reasons[error.status] ?? "Error"}`;
  return `HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${body}`;
}
