/**
 * `GET /openapi.json`, `GET /docs` and the providers' pages below it: open to everybody, they hold
 * no data.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type Router from "@koa/router";
import { projectFile } from "../../runtime/project-root.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import { openApiDocument } from "./openapi.js";
import { docsPage, pageStyle } from "./page.js";

export function docsRoutes(router: Router): void {
  const document = openApiDocument();
  const json = JSON.stringify(document);
  const page = docsPage(document);
  const styleHash = createHash("sha256").update(pageStyle).digest("base64");

  router.get("/openapi.json", (ctx) => {
    ctx.type = "application/json";
    ctx.body = json;
  });

  router.get("/docs", (ctx) => {
    ctx.set({
      "Content-Security-Policy": [
        "default-src 'none'",
        `style-src 'sha256-${styleHash}'`,
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ].join("; "),
      "Referrer-Policy": "no-referrer",
    });
    ctx.type = "text/html; charset=utf-8";
    ctx.body = page;
  });
  // As text: the pages are Markdown that reads well as it is.
  for (const token of providerTokens) {
    const text = readFileSync(projectFile("docs", "providers", `${token}.md`), "utf8");
    router.get(`/docs/providers/${token}`, (ctx) => {
      ctx.type = "text/plain; charset=utf-8";
      ctx.body = text;
    });
  }
}
