/** How the files of the dashboard are served: their headers, their caching, and nothing besides. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import Router from "@koa/router";
import { expect } from "chai";
import { dashboardRoutes } from "../../api/dashboard.js";
import { readConfig } from "../../config.js";
import { createLogger } from "../../runtime/logger.js";
import { withApp } from "../harness/bare-app.js";
import { sendRaw } from "../harness/raw-http.js";

const script = "export const words = 'many words';\n".repeat(100);

describe("The files of the dashboard", () => {
  let folder: string;

  before(() => {
    const parent = mkdtempSync(join(tmpdir(), "dashboard-"));
    folder = join(parent, "web");
    mkdirSync(join(folder, "assets"), { recursive: true });
    writeFileSync(
      join(folder, "index.html"),
      '<!doctype html><html lang="en"><title>Dashboard</title>',
    );
    writeFileSync(join(folder, "assets", "index-C0FFEE12.js"), script);
    writeFileSync(join(folder, "assets", "index-C0FFEE12.js.br"), brotliCompressSync(script));
    writeFileSync(join(folder, "assets", "index-C0FFEE12.js.gz"), gzipSync(script));
    writeFileSync(join(folder, "icon.svg"), "<svg/>");
    writeFileSync(join(folder, "unlisted.txt"), "not offered");
    writeFileSync(join(parent, "secret.txt"), "a secret");
  });
  after(() => rmSync(join(folder, ".."), { recursive: true }));

  function serve(use: (base: string) => Promise<void>, settings: object = {}): Promise<void> {
    const router = new Router();
    const config = readConfig({ DATA_DIR: "/none", ...settings });
    dashboardRoutes(router, { config }, folder);
    return withApp(router, createLogger("silent"), use);
  }

  const served: [path: string, type: string, caching: string][] = [
    ["/", "text/html; charset=utf-8", "no-cache"],
    ["/overview", "text/html; charset=utf-8", "no-cache"],
    ["/accounts/acc_1?workspace=ws", "text/html; charset=utf-8", "no-cache"],
    ["/settings/integrations/new", "text/html; charset=utf-8", "no-cache"],
    [
      "/assets/index-C0FFEE12.js",
      "text/javascript; charset=utf-8",
      "public, max-age=31536000, immutable",
    ],
    ["/icon.svg", "image/svg+xml", "public, max-age=3600"],
  ];
  for (const [path, type, caching] of served) {
    it(`should serve ${path} with all headers that protect it`, () =>
      serve(async (base) => {
        const { status, headers } = await fetch(base + path);
        expect(status).to.equal(200);
        expect(headers.get("content-type")).to.equal(type);
        expect(headers.get("cache-control")).to.equal(caching);
        const policy = headers.get("content-security-policy") ?? "";
        const rules = policy.split("; ");
        expect(rules).to.include.members([
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "connect-src 'self'",
          "base-uri 'none'",
          "form-action 'self'",
          "frame-ancestors 'none'",
        ]);
        expect(policy).to.not.match(/unsafe|https?:|\*/);
        expect(Object.fromEntries(headers)).to.include({
          "cross-origin-opener-policy": "same-origin",
          "cross-origin-resource-policy": "same-origin",
          "referrer-policy": "same-origin",
          "x-content-type-options": "nosniff",
          "x-frame-options": "DENY",
        });
        expect(headers.get("permissions-policy")).to.include("camera=()");
        expect(headers.get("strict-transport-security")).to.equal(null);
      }));
  }

  it("should tell a page whether a session came with it", () =>
    serve(async (base) => {
      const sent = async (headers: Record<string, string>): Promise<string> =>
        (await fetch(base, { headers })).text();
      expect(await sent({})).to.include('<html data-session="none" lang="en">');
      expect(await sent({ cookie: "session=one" })).to.include('<html lang="en">');
    }));

  it("should keep browsers to https where it is reached by https", () =>
    serve(
      async (base) => {
        const { headers } = await fetch(base);
        expect(headers.get("strict-transport-security")).to.equal("max-age=31536000");
      },
      { PUBLIC_URL: "https://revenue.example.com" },
    ));

  it("should send what was compressed before, as the browser accepts it", () =>
    serve(async (base) => {
      for (const coding of ["br", "gzip", "identity"]) {
        const headers = { "accept-encoding": coding };
        const answer = await fetch(`${base}/assets/index-C0FFEE12.js`, { headers });
        const expected = coding === "identity" ? null : coding;
        expect(answer.headers.get("content-encoding")).to.equal(expected);
        expect(answer.headers.get("vary")).to.equal("Accept-Encoding");
        expect(await answer.text()).to.equal(script);
      }
    }));

  it("should answer a browser at an unknown address with a page, all others with JSON", () =>
    serve(async (base) => {
      const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
      const ask = async (path: string, accept: string, method = "GET", cookie = "") => {
        const answer = await fetch(base + path, { method, headers: { accept, cookie } });
        return `${answer.status} ${await answer.text()}`;
      };
      const page = await ask("/nothing", browser);
      expect(page).to.match(/^404 <!doctype html>[^]*There is no such page[^]*href="\/"/);
      const app = await ask("/nothing", browser, "GET", "session=one");
      expect(app).to.match(/^404 <!doctype html>.*<title>Dashboard/);
      for (const [path, accept, method] of [
        ["/nothing", "*/*", "GET"],
        ["/nothing", browser, "POST"],
        ["/v1/nothing", browser, "GET"],
        ["/mcp/nothing", browser, "GET"],
        ["/assets/gone-12345678.js", browser, "GET"],
      ] as const) {
        const text = await ask(path, accept, method);
        expect(text, `${method} ${path}`).to.match(/^404 \{.*"path_unknown"/);
      }
    }));

  const outside = [
    "/assets/../index.html",
    "/assets/../../secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/%2e%2e/%2e%2e/secret.txt",
    "/assets/..%5c..%5csecret.txt",
    "/assets/%00",
    "/assets/",
    "/assets/gone-12345678.js",
    "/../secret.txt",
    "//secret.txt",
    "/unlisted.txt",
  ];
  for (const path of outside) {
    it(`should find nothing at ${path}`, () =>
      serve(async (base) => {
        const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
        const answer = await sendRaw(base, head);
        expect(answer).to.match(/^HTTP\/1\.1 40[04] /);
        expect(answer).to.not.include("a secret").and.not.include("not offered");
      }));
  }
});
