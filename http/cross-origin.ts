/** CORS, for programs in browsers: they call with a token of their own, and never with a cookie. */
import type { Context, Next } from "koa";

const openPaths = /^\/(?:mcp|oauth\/\w+|\.well-known\/oauth-[\w/-]+)$/;
const preflightSeconds = 24 * 60 * 60;

export async function crossOrigin(ctx: Context, next: Next): Promise<void> {
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
