/**
 * Cookies of the dashboard, and its address. Loopback may use plain HTTP; any other address has TLS
 * in front of it, or browsers would not keep its cookies.
 */
import type { IncomingMessage } from "node:http";
import type { Context } from "koa";

type Request = Pick<IncomingMessage, "headers">;

export const sessionCookie = "session";

/** @returns undefined when the caller sent none */
export function readCookie(request: Request, name: string): string | undefined {
  const wanted = cookieName(request, name);
  for (const part of (request.headers.cookie ?? "").split(";")) {
    const equals = part.indexOf("=");
    if (equals > 0 && part.slice(0, equals).trim() === wanted) return part.slice(equals + 1).trim();
  }
  return undefined;
}

/** @param value null removes it */
export function setCookie(
  ctx: Context,
  name: string,
  value: string | null,
  secondsMax: number,
): void {
  const parts = [
    `${cookieName(ctx.req, name)}=${value ?? ""}`,
    "Path=/",
    `Max-Age=${value === null ? 0 : secondsMax}`,
    ...(isLoopback(ctx.req) ? [] : ["Secure"]),
    "HttpOnly",
    "SameSite=Lax",
  ];
  ctx.append("Set-Cookie", parts.join("; "));
}

/** The dashboard's address in the browser: `https://revenue.example.com`. */
export function originOf(request: Request): string {
  return `${isLoopback(request) ? "http" : "https"}://${request.headers.host ?? ""}`;
}

/** Whether the call comes from a page of the dashboard, which only a browser can say. */
export function isFromOwnPage(request: Request): boolean {
  const { origin, "sec-fetch-site": site } = request.headers;
  return origin === originOf(request) && (site === undefined || site === "same-origin");
}

/** Whether a browser says that another site's page made the call. */
export function isFromForeignPage(request: Request): boolean {
  const { origin, "sec-fetch-site": site } = request.headers;
  return (origin !== undefined && origin !== originOf(request)) || site === "cross-site";
}

/** The prefix makes browsers refuse the cookie from any other host, and over plain HTTP. */
function cookieName(request: Request, name: string): string {
  return isLoopback(request) ? name : `__Host-${name}`;
}

function isLoopback({ headers }: Request): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(headers.host ?? "");
}
