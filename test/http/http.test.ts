/** The HTTP base: errors, limits, stopping, query parameters; on a small app of its own. */
import { EventEmitter, once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { ClickHouseError } from "@clickhouse/client";
import Router from "@koa/router";
import { expect } from "chai";
import type { Context } from "koa";
import { z } from "zod";
import { createApp } from "../../http/app.js";
import { readBytes } from "../../http/body.js";
import { ApiError, unauthenticated } from "../../schemas/http/errors.js";
import { CallLimits } from "../../http/rate-limits.js";
import { readQuery } from "../../http/query.js";
import { createHttpServer } from "../../http/server.js";
import { AppendUncertain, LogUnavailable, LogUnreadable } from "../../stores/log/log.js";
import { createMetrics } from "../../runtime/metrics.js";
import { PostgresUnavailable } from "../../stores/postgres/postgres.js";
import { listen } from "../harness/loopback.js";
import { testLogger } from "../harness/stores.js";

describe("The HTTP base", () => {
  const newLimits = () => new CallLimits({ RATE_LIMIT_PER_KEY: 5, RATE_LIMIT_REFUSED: 3 });
  const router = new Router();
  const service = { limits: newLimits(), router, logger: testLogger, metrics: createMetrics() };
  const calls = new EventEmitter();
  let stopping = false;
  let base: string;
  let close: () => Promise<void>;

  before(async () => {
    router.get("/good", (ctx) => {
      ctx.body = { status: "success" };
    });
    const grant = "it's necessary to have the grant SELECT ON var/lib";
    const thrown = {
      mistake: new TypeError("the password is 1234"),
      full: new LogUnavailable("the disk /var/lib is full"),
      unsure: new AppendUncertain("no answer from /var/lib", { stored: Promise.resolve() }),
      unreadable: new LogUnreadable("10.0.0.2 does not answer"),
      away: new PostgresUnavailable("10.0.0.1 does not answer"),
      "not-granted": new ClickHouseError({ message: grant, code: "497", type: "ACCESS_DENIED" }),
      refused: unauthenticated("key_unknown", "No."),
    };
    for (const [path, error] of Object.entries(thrown)) {
      router.get(`/${path}`, () => {
        throw error;
      });
    }
    router.post("/late", async (ctx) => {
      const gone = new Promise((resolve) => ctx.req.once("close", resolve));
      calls.emit("begun");
      await gone;
      calls.emit("read", await readBytes(ctx, 10).catch((error: unknown) => error));
    });
    router.get("/query", (ctx) => {
      ctx.body = readQuery(ctx, z.object({ limit: z.coerce.number().max(9).optional() }));
    });
    router.get("/counted/:key", async (ctx: Context) => {
      ctx.set(await service.limits.countKey(String(ctx.params.key)));
      ctx.body = {};
    });
    const app = createApp(service, () => stopping);
    ({ url: base, close } = await listen(createHttpServer(app)));
  });
  after(() => close());
  beforeEach(() => {
    service.limits = newLimits();
  });

  const rows: [path: string, status: number, code: string, type: string][] = [
    ["/mistake", 500, "internal", "internal"],
    ["/away", 503, "metadata_unavailable", "unavailable"],
    ["/unreadable", 503, "log_unreadable", "unavailable"],
    ["/full", 503, "log_unavailable", "unavailable"],
    ["/not-granted", 503, "store_unavailable", "unavailable"],
    ["/unsure", 503, "log_unavailable", "unavailable"],
    ["/refused", 401, "key_unknown", "authentication"],
    ["/nothing", 404, "path_unknown", "not_found"],
    ["/query?limit=10", 400, "parameter_invalid", "invalid_request"],
    ["/query?limit=1&limit=1", 400, "parameter_repeated", "invalid_request"],
    ["/query?limt=1", 400, "parameter_unknown", "invalid_request"],
    ["/query?constructor=1", 400, "parameter_unknown", "invalid_request"],
    ["/query?__proto__=1", 400, "parameter_unknown", "invalid_request"],
  ];
  for (const [path, status, code, type] of rows) {
    it(`should answer ${path} with ${status} ${code} and say no more`, async () => {
      const response = await fetch(base + path);
      const text = await response.text();
      expect(response.status).to.equal(status);
      expect(JSON.parse(text)).to.deep.include({ status: "error" });
      expect(JSON.parse(text).error).to.include({
        code,
        type,
        request_id: response.headers.get("x-request-id"),
      });
      expect(text).to.not.match(/1234|var\/lib/);
    });
  }

  it("should not say that nothing was taken where it was sent and may be there", async () => {
    const textOf = async (path: string) => (await fetch(base + path)).text();
    expect(await textOf("/full")).to.include("nothing was stored");
    const unsure = await textOf("/unsure");
    expect(unsure).to.include("Idempotency-Key").and.not.include("nothing was stored");
  });

  it("should say when to come back, of what may work later", async () => {
    expect((await fetch(`${base}/full`)).headers.get("retry-after")).to.equal("1");
  });

  it("should name the parameters there are where one is unknown", async () => {
    const response = await fetch(`${base}/query?limt=1`);
    expect(await response.json()).to.have.nested.property(
      "error.message",
      "Unknown parameter limt; known: limit.",
    );
  });

  it("should name the parameter that is wrong", async () => {
    const response = await fetch(`${base}/query?limit=x`);
    expect(await response.json()).to.have.nested.property("error.param", "limit");
    const good = await fetch(`${base}/query?limit=9`);
    expect(await good.json()).to.deep.equal({ limit: 9 });
  });

  it("should answer another method with 405 and the ones there are", async () => {
    const response = await fetch(`${base}/good`, { method: "DELETE" });
    expect([response.status, response.headers.get("allow")]).to.deep.equal([405, "GET, HEAD"]);
  });

  it("should limit each key on its own and say what is left", async () => {
    const statuses: number[] = [];
    for (let call = 0; call < 6; call++) {
      const response = await fetch(`${base}/counted/one`);
      statuses.push(response.status);
      const left = Math.max(0, 4 - call);
      expect(response.headers.get("ratelimit")).to.equal(`"key";r=${left};t=1`);
      expect(response.headers.get("ratelimit-policy")).to.equal('"key";q=5;w=1');
      expect(response.headers.get("retry-after")).to.equal(call === 5 ? "1" : null);
    }
    expect(statuses).to.deep.equal([200, 200, 200, 200, 200, 429]);
    expect((await fetch(`${base}/counted/two`)).status).to.equal(200);
    // Calls are counted by the second, and refusals.
    await pause(1_050);
    expect((await fetch(`${base}/counted/one`)).headers.get("ratelimit")).to.equal('"key";r=4;t=1');
  });

  it("should limit refusals by address, and only refusals", async () => {
    const statuses: number[] = [];
    for (const path of ["/refused", "/nothing", "/refused", "/refused", "/nothing", "/good"]) {
      statuses.push((await fetch(base + path)).status);
    }
    expect(statuses).to.deep.equal([401, 404, 401, 429, 429, 200]);
    await pause(1_050);
    expect((await fetch(`${base}/refused`)).status).to.equal(401);
  });

  it("should count an IPv6 network as one address", async () => {
    const refusal = new ApiError(401, "authentication", "x", "x");
    const statusOf = async (ip: string) =>
      (await service.limits.refuse({ ip, state: { requestId: "" } }, refusal)).status;
    for (const host of ["1", "2", "3"])
      expect(await statusOf(`2001:db8:1:2::${host}`)).to.equal(401);
    expect(await statusOf("2001:db8:1:2::4")).to.equal(429);
    expect(await statusOf("2001:db8:1:3::4")).to.equal(401);
    // The same network in four spellings: which zeros are left out depends on the host's part.
    const spelt = ["2001:db8::1", "2001:db8::5:0:0:1", "2001:db8::6:7:8:9", "2001:db8:0:0:a::"];
    const statuses = [];
    for (const ip of spelt) statuses.push(await statusOf(ip));
    expect(statuses).to.deep.equal([401, 401, 401, 429]);
  });

  it("should answer 503 while it stops", async () => {
    stopping = true;
    const response = await fetch(`${base}/good`);
    stopping = false;
    expect([response.status, response.headers.get("connection")]).to.deep.equal([503, "close"]);
    expect(await response.json()).to.have.nested.property("error.code", "stopping");
    expect((await fetch(`${base}/good`)).status).to.equal(200);
  });

  it("should take it for no mistake when who called is gone before the body is read", async () => {
    const calling = new AbortController();
    const [begun, read] = [once(calls, "begun"), once(calls, "read")];
    const { signal } = calling;
    const answer = fetch(`${base}/late`, { method: "POST", body: "four", signal });
    answer.catch(() => undefined);
    await begun;
    calling.abort();
    expect((await read)[0])
      .to.be.instanceOf(ApiError)
      .and.to.include({ code: "body_incomplete" });
  });
});
