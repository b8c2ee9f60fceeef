/** Calls that are rare and right: each is answered as its plain form is. */
import { once } from "node:events";
import Router from "@koa/router";
import { expect } from "chai";
import { WebSocket } from "ws";
import { refuseIngest } from "../../http/refuse-ingest.js";
import { withApp } from "../harness/bare-app.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";
import { sendRaw } from "../harness/raw-http.js";

const endpoints = suiteEndpoints();

const raw = (text: string): Promise<string> => sendRaw(endpoints.base, text);

describe("Unusual HTTP", () => {
  const offer = "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n";
  const connection = "Connection: close, Upgrade, HTTP2-Settings\r\n";
  const sale = JSON.stringify({
    provider: "custom",
    event_type: "transaction.sale",
    amount: 1,
    currency: "EUR",
  });
  const ingest = (headers: string, body: string) =>
    `POST /v1/events/ingest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${endpoints.key}\r\n` +
    `Content-Type: application/json\r\n${headers}\r\n${body}`;
  const length = `Content-Length: ${sale.length}\r\n`;
  const rest = sale.slice(5);
  const firstChunk = `5;name=value\r\n${sale.slice(0, 5)}\r\n`;
  const chunks = `${firstChunk}${rest.length.toString(16)}\r\n${rest}\r\n`;

  const full = "GET http://elsewhere/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const offering = `GET /healthz HTTP/1.1\r\nHost: x\r\n${connection}${offer}\r\n`;
  const rows: [title: string, bytes: () => string, answer: RegExp][] = [
    ["HTTP/1.0 without a host", () => "GET /healthz HTTP/1.0\r\n\r\n", /^HTTP\/1.1 200 /],
    ["an address in full", () => full, /^HTTP\/1.1 200 /],
    ["a call that offers HTTP/2", () => offering, /^HTTP\/1.1 200 /],
    [
      "a call with a body that offers HTTP/2",
      () => ingest(connection + offer + length, sale),
      /^HTTP\/1.1 202 /,
    ],
    [
      "a body in chunks with a trailer",
      () =>
        ingest("Connection: close\r\nTransfer-Encoding: chunked\r\n", `${chunks}0\r\nX: y\r\n\r\n`),
      /^HTTP\/1.1 202 /,
    ],
    [
      "Expect: 100-continue",
      () => ingest(`Connection: close\r\nExpect: 100-Continue\r\n${length}`, sale),
      /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 202 /,
    ],
    [
      "another expectation",
      () => ingest(`Connection: close\r\nExpect: miracles\r\n${length}`, sale),
      /^HTTP\/1.1 417 [^]*"code":"expectation_unknown"/,
    ],
  ];
  for (const [title, bytes, answer] of rows) {
    it(`should answer ${title}`, async () => {
      const given = await raw(bytes());
      expect(given).to.match(answer);
      expect(given).to.match(/x-request-id: [-0-9a-f]{36}/i);
    });
  }

  const hosts: [title: string, headers: string, code: string][] = [
    ["two Host headers", "Host: one\r\nHost: two\r\n", "host_repeated"],
    ["two that agree", "Host: one\r\nhost: one\r\n", "host_repeated"],
    ["a Host with a path", "Host: one/two\r\n", "host_malformed"],
    ["a Host with a user", "Host: me@one\r\n", "host_malformed"],
    ["a list of them", "Host: one, two\r\n", "host_malformed"],
    ["a port that is none", "Host: one:x\r\n", "host_malformed"],
    ["markup", 'Host: one"><script>\r\n', "host_malformed"],
  ];
  for (const [title, headers, code] of hosts) {
    it(`should refuse ${title}`, async () => {
      const answer = await raw(`GET /healthz HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
      expect(answer)
        .to.match(/^HTTP\/1.1 400 /)
        .and.include(`"code":"${code}"`);
    });
  }

  for (const host of ["one", "one:3000", "a_b.example.com", "10.0.0.1:80", "[::1]:3000"]) {
    it(`should take the Host ${host}`, async () => {
      const text = `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      expect(await raw(text)).to.match(/^HTTP\/1.1 200 /);
    });
  }

  it("should answer 2,000 calls sent at once that all offer HTTP/2", async function answerAll() {
    this.timeout(60_000);
    const one = `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${offer}\r\n`;
    const last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const all = await raw(one.repeat(2_000) + last);
    expect(all.match(/HTTP\/1.1 200 OK/g)).to.have.length(2_001);
  });

  it("should keep the connection of a call that offered HTTP/2", async () => {
    const both = await raw(
      `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n${offer}\r\n` +
        "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    expect(both.match(/HTTP\/1.1 200 OK/g)).to.have.length(2);
  });

  it("should open the stream at its path with a slash at the end, too", async () => {
    const socket = new WebSocket(`${endpoints.base.replace("http", "ws")}/v1/events/stream/`, {
      headers: { authorization: `Bearer ${endpoints.key}` },
    });
    const [[answer]] = await Promise.all([once(socket, "upgrade"), once(socket, "open")]);
    expect(answer.headers["x-request-id"]).to.match(/^[-0-9a-f]{36}$/);
    socket.close();
    await once(socket, "close");
  });

  it("should say which version of WebSockets it speaks", async () => {
    const answer = await raw(
      `GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${endpoints.key}\r\n` +
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 12\r\n" +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    expect(answer).to.match(/^HTTP\/1.1 400 [^]*Sec-WebSocket-Version: 13\r\n/);
  });

  const refused: [method: string, path: string, code: string][] = [
    ["GET", "/v1/manage/workspaces/%00", "path_malformed"],
    ["DELETE", "/v1/manage/workspaces/WORKSPACE/keys/a%00", "path_malformed"],
    ["GET", "/v1/transactions/%00", "path_malformed"],
    ["GET", "/v1/transactions/%E0%A4%A", "path_malformed"],
    ["GET", "/v1/%zz", "path_malformed"],
    ["POST", "/v1/events/ingest?dry_run=true", "parameter_unknown"],
    ["GET", "/v1/manage/workspaces/WORKSPACE?x=1", "parameter_unknown"],
    ["GET", "/v1/manage/providers?x=1", "parameter_unknown"],
    ["POST", "/v1/manage/audits?repair=true", "parameter_unknown"],
    ["GET", "/v1/metrics/mrr?at=2026-01-31T12:00:00+01:00", "parameter_invalid"],
  ];
  for (const [method, path, code] of refused) {
    it(`should answer ${method} ${path} with 400 ${code}`, async () => {
      const isManaged = path.startsWith("/v1/manage");
      const authorization = `Bearer ${isManaged ? endpoints.adminToken : endpoints.key}`;
      const where = path.replace("WORKSPACE", endpoints.workspace);
      const answer = await endpoints.call(where, { method, headers: { authorization } });
      expectError(answer, `400 ${code}`);
      expect(answer.headers.get("x-content-type-options")).to.equal("nosniff");
    });
  }

  it("should leave no answer in a cache on its way", async () => {
    const headers = { authorization: `Bearer ${endpoints.key}` };
    for (const path of ["/v1/metrics/mrr", "/v1/transactions?limit=0", "/v1/none", "/docs"]) {
      const answer = await endpoints.call(path, { headers });
      expect(answer.headers.get("cache-control"), path).to.equal("no-store");
    }
  });

  it("should say of a process without the endpoints that they are elsewhere", async () => {
    const router = new Router({ sensitive: true });
    router.get("/v1/events/:event_id", () => undefined);
    refuseIngest(router);
    await withApp(router, endpoints.service.logger, async (base) => {
      for (const path of ["/v1/events/ingest", "/v1/webhooks/token"]) {
        const answer = await fetch(base + path, { method: "POST", body: sale });
        expect([answer.status, await answer.text()].join(" ")).to.match(/^404 .*"role_elsewhere"/);
      }
    });
  });

  it("should end its JSON with a line's end, for whoever reads it on a terminal", async () => {
    const paths = ["/healthz", "/v1/none", "/v1/manage/providers", "/openapi.json", "/subjects"];
    for (const path of paths) {
      const { text } = await endpoints.call(path);
      expect(text.endsWith("}\n") || text.endsWith("]\n"), path).to.equal(true);
    }
    expect(await raw("nonsense\r\n\r\n")).to.match(/\}\n$/);
  });

  it("should name the methods of the path that is meant", async () => {
    const headers = { authorization: `Bearer ${endpoints.key}` };
    const allowed = async (path: string, method: string) => {
      const answer = await endpoints.call(path, { method, headers });
      return [answer.status, answer.headers.get("allow")];
    };
    expect(await allowed("/v1/events/ingest", "GET")).to.deep.equal([405, "POST"]);
    expect(await allowed("/v1/events/ingest", "DELETE")).to.deep.equal([405, "POST"]);
    expect(await allowed("/v1/events/evt_norm_x", "POST")).to.deep.equal([405, "GET, HEAD"]);
    // No event's id reads so, and nothing else lies there.
    expect(await allowed("/v1/events/something", "GET")).to.deep.equal([404, null]);
  });
});
