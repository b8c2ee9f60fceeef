/** `GET /openapi.json` and `GET /docs`: open to everybody, they hold no data. */
import { createHash } from "node:crypto";
import type Router from "@koa/router";
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
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    });
    ctx.type = "text/html; charset=utf-8";
    ctx.body = page;
  });
}
