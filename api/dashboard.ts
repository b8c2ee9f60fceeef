/**
 * The dashboard's files, as the build of `web/` left them in `dist/web`: read once, kept in memory.
 * Names of assets hold a hash of their content, so browsers keep them; the page itself is requested
 * each time.
 */
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import type Router from "@koa/router";
import type { Context } from "koa";
import { readCookie, sessionCookie } from "../http/cookies.js";
import { projectFile } from "../runtime/project-root.js";
import type { Service } from "../service.js";
import { plainPage } from "./plain-page.js";

/** First parts of the paths that the web app handles, with everything below them. */
const clientPaths = [
  "setup",
  "invite",
  "sign-in",
  "connect",
  "welcome",
  "overview",
  "mrr",
  "revenue",
  "rates",
  "retention",
  "what-changed",
  "products",
  "transactions",
  "accounts",
  "live",
  "why",
  "events",
  "settings",
  "installation",
];

/** A pattern, where all other routes are written out: `http/app.ts` counts it as no route. */
const outsideApi = /^\/(?!(?:v1|auth|mcp|oauth|\.well-known|schemas|subjects|config|mode)(?:\/|$))/;

interface File {
  readonly type: string;
  readonly bytes: Buffer;
  /** By content coding; none for files that are compressed already. */
  readonly compressed: Readonly<Record<string, Buffer>>;
}

export function dashboardRoutes(
  router: Router,
  { config }: Pick<Service, "config">,
  folder = projectFile("dist", "web"),
): void {
  const hsts = config.PUBLIC_URL?.startsWith("https:") === true;
  let files = readFiles(folder);

  const page = (ctx: Context): void => {
    // Built after the start, during development.
    if (!files.has("index.html")) files = readFiles(folder);
    const index = files.get("index.html");
    setHeaders(ctx, hsts);
    if (index === undefined) {
      plainPage(ctx, 503, "The dashboard is not built", [
        "Run npm run build, then reload this page.",
        "The interface itself works; all its calls are listed at /docs.",
      ]);
      return;
    }
    // A program may have opened it in a window of its own, and wait for that to come back.
    if (ctx.path === "/connect") ctx.set("Cross-Origin-Opener-Policy", "unsafe-none");
    ctx.set("Cache-Control", "no-cache");
    ctx.vary("Cookie");
    send(ctx, readCookie(ctx.req, sessionCookie) === undefined ? withoutSession(index) : index);
  };

  router.get("/", page);
  for (const path of clientPaths) {
    router.get(`/${path}`, page);
    router.get(`/${path}/*rest`, page);
  }
  router.get("/assets/:name", (ctx, next) => {
    const file = files.get(`assets/${String(ctx.params.name)}`);
    // After an upgrade an old page may ask for a file that is gone; that is the JSON 404.
    if (file === undefined) return next();
    setHeaders(ctx, hsts);
    ctx.set("Cache-Control", "public, max-age=31536000, immutable");
    return send(ctx, file);
  });
  for (const name of ["icon.svg", "scheme.js", "robots.txt", "manifest.webmanifest"]) {
    router.get(`/${name}`, (ctx, next) => {
      const file = files.get(name);
      if (file === undefined) return next();
      setHeaders(ctx, hsts);
      ctx.set("Cache-Control", "public, max-age=3600");
      return send(ctx, file);
    });
  }
  // Unknown addresses: a browser gets a page, other clients get the JSON 404.
  router.get(outsideApi, (ctx, next) => {
    const isKnown = (ctx.matched?.length ?? 0) > 1;
    if (isKnown || ctx.accepts("json", "html") !== "html") return next();
    ctx.status = 404;
    // The web app would ask anybody else to sign in first.
    if (readCookie(ctx.req, sessionCookie) !== undefined) return page(ctx);
    return plainPage(ctx, 404, "There is no such page", ["Nothing is at this address."]);
  });
}

/** A page without a session need not ask whose it is, and get a 401. */
function withoutSession({ type, bytes }: File): File {
  const text = bytes.toString().replace("<html ", '<html data-session="none" ');
  return { type, bytes: Buffer.from(text), compressed: {} };
}

/** Nothing from other origins, no inline scripts, no framing. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

function setHeaders(ctx: Context, hsts: boolean): void {
  ctx.set({
    "Content-Security-Policy": contentSecurityPolicy,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
  });
  if (hsts) ctx.set("Strict-Transport-Security", "max-age=31536000");
}

function send(ctx: Context, { type, bytes, compressed }: File): void {
  ctx.type = type;
  ctx.vary("Accept-Encoding");
  const coding = ctx.acceptsEncodings(...Object.keys(compressed), "identity");
  const chosen = typeof coding === "string" ? compressed[coding] : undefined;
  if (typeof coding === "string" && chosen !== undefined) ctx.set("Content-Encoding", coding);
  ctx.body = chosen ?? bytes;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
};

/** @returns by path within the folder; empty when it is missing */
function readFiles(folder: string): ReadonlyMap<string, File> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return new Map();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && types[extname(entry.name)] !== undefined)
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    files.map((path) => {
      const bytes = readFileSync(path);
      const compressed = Object.fromEntries(
        codings
          .filter(([, ending]) => existsSync(path + ending))
          .map(([coding, ending]) => [coding, readFileSync(path + ending)]),
      );
      const type = types[extname(path)] ?? "application/octet-stream";
      return [relative(folder, path).split(sep).join("/"), { type, bytes, compressed }] as const;
    }),
  );
}

/** As the build left them beside each file (ops/build-web.ts). */
const codings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;
