/**
 * What is known of a caller before a key is read: behind a proxy (`TRUST_PROXY`) by its headers,
 * which otherwise anybody could write.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Config } from "../config.js";

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
