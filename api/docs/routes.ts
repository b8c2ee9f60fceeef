/**
 * `GET /openapi.json`, the API reference at `/docs` and the pages of `docs/` below it: open to
 * everybody, since they hold no data. All of it comes from here, under a policy that lets a browser
 * load, run and request nothing else.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import type Router from "@koa/router";
import type { Context } from "koa";
import { notFound } from "../../schemas/http/errors.js";
import { projectFile } from "../../runtime/project-root.js";
import { openApiDocument, type OpenApiDocument } from "./openapi.js";
import { type Pages, pageStyle, readPages, shell } from "./pages.js";
import { escapeHtml } from "../plain-page.js";

export function docsRoutes(router: Router): void {
  const pages = readPages();
  // Made at the first request, so that a start need not wait for it.
  let made: ReturnType<typeof make> | undefined;
  const make = () => {
    const document = openApiDocument();
    const json = `${JSON.stringify(document)}\n`;
    return { json, reference: referencePage(document, pages) };
  };
  const files: Readonly<Record<string, () => Buffer | string>> = {
    "pages.css": () => pageStyle,
    "reference.js": () => referenceScript,
    "swagger-ui.css": () => readFileSync(swaggerFile("swagger-ui-dist/swagger-ui.css")),
    "swagger-ui-bundle.js": () => readFileSync(swaggerFile("swagger-ui-dist/swagger-ui-bundle.js")),
    ...Object.fromEntries(
      readdirSync(images).map((name) => [
        `images/${name}`,
        () => readFileSync(`${images}/${name}`),
      ]),
    ),
  };
  const packed = new Map<string, Buffer>();

  router.get("/openapi.json", (ctx) => {
    ctx.type = "application/json";
    ctx.body = (made ??= make()).json;
  });

  router.get("/docs", (ctx) => {
    sendPage(ctx, (made ??= make()).reference);
  });

  router.get("/docs/*path", (ctx) => {
    const path = String(ctx.params["path"]);
    const page = pages.get(path) ?? pages.get(`${path}.md`);
    if (page !== undefined) return sendPage(ctx, page.html());
    const read = Object.hasOwn(files, path) ? files[path] : undefined;
    if (read === undefined) throw notFound("page_unknown", "There is no such page.");
    ctx.type = extname(path);
    // They hold no secret and are large, so browsers keep them for a day.
    ctx.set({ "Cache-Control": "public, max-age=86400", Vary: "Accept-Encoding" });
    if (ctx.acceptsEncodings("gzip") !== "gzip") {
      ctx.body = read();
      return;
    }
    const bytes = packed.get(path) ?? gzipSync(read());
    packed.set(path, bytes);
    ctx.set("Content-Encoding", "gzip");
    ctx.body = bytes;
  });
}

const images = projectFile("docs", "images");
const swaggerFile = createRequire(import.meta.url).resolve;

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The library's icons are in its style sheet.
  "img-src 'self' data:",
  // Calls that are tried go to this service.
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function sendPage(ctx: Context, html: string): void {
  ctx.set({ "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer" });
  ctx.type = "text/html; charset=utf-8";
  ctx.body = html;
}

/** A file of its own: the policy allows no script within a page. */
const referenceScript = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  // A key stays in the memory of this page.
  persistAuthorization: false,
  // Nothing is sent to others for validation.
  validatorUrl: null,
});
`;

function referencePage({ info }: OpenApiDocument, pages: Pages): string {
  const links = Array.from(pages, ([path, { title }]) => ({ path, title }))
    // The reasons behind choices are linked where they matter.
    .filter(({ path }) => !path.startsWith("decisions/"))
    .map(({ path, title }) => `<li><a href="/docs/${path}">${escapeHtml(title)}</a></li>`);
  return shell(
    info.title,
    `<h1>${escapeHtml(info.title)}</h1>
<details><summary>Documentation</summary>
<ul class="pages">${links.join("\n")}</ul>
</details>
<p>To try a call, enter a key under <em>Authorize</em>. As a machine reads it:
<a href="/openapi.json">openapi.json</a>.</p>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/reference.js"></script>`,
    ["/docs/swagger-ui.css"],
  );
}
