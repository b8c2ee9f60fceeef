/** The log as people and machines read it. */
import { spawnSync } from "node:child_process";
import { PassThrough } from "node:stream";
import Router from "@koa/router";
import { expect } from "chai";
import { pino } from "pino";
import { LogThrottle } from "../../runtime/log-throttle.js";
import { createLogger, readableLines } from "../../runtime/logger.js";
import { PostgresUnavailable } from "../../stores/postgres/postgres.js";
import { withApp } from "../harness/bare-app.js";

describe("A line of the log", () => {
  let lines: string[] = [];
  const keep = { write: (line: string) => void lines.push(line) };
  const logger = createLogger("debug", { role: "ingest", destination: keep });
  const entries = (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line));
  beforeEach(() => {
    lines = [];
  });

  it("should say its level by name, and which process wrote it", () => {
    logger.warn({ url: "u" }, "a word");
    const [entry] = entries();
    expect(entry).to.include({ level: "warn", role: "ingest", pid: process.pid, msg: "a word" });
    expect(entry?.["time"]).to.match(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  for (const level of ["info", "debug"]) {
    it(`should be readable on a terminal, at ${level}`, () => {
      const shown = new PassThrough();
      const terminal = pino({ level }, readableLines(level, shown));
      terminal.info({ partitions: [1, 2] }, "in the group");
      terminal.error({ err: new Error("no room\non this disk") }, "an append failed");
      const [first = "", second = "", ...stack] = String(shown.read()).trim().split("\n");
      expect(first).to.match(/^\[[\d:]{8}\] INFO: in the group \{"partitions":\[1,2\]\}$/);
      expect(second).to.match(/^\[[\d:]{8}\] ERROR: an append failed: no room/);
      expect(stack.length > 0).to.equal(level === "debug");
    });
  }

  it("should come in order and to the last when the process ends while its threads work", () => {
    const module = new URL("../../runtime/logger.js", import.meta.url).href;
    const program = `
      import { pbkdf2 } from "node:crypto";
      import { createLogger } from ${JSON.stringify(module)};
      const logger = createLogger("info");
      pbkdf2("a", "b", 100_000, 64, "sha512", () => {});
      for (const word of ["stopping", "stopped"]) logger.info(word);
      process.exit(0);`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      env: { ...process.env, UV_THREADPOOL_SIZE: "1" },
      encoding: "utf8",
    });
    expect(stdout).to.match(/^.*"stopping"\}\n.*"stopped"\}\n$/);
  });

  const router = new Router();
  router.get("/away", () => {
    throw new PostgresUnavailable("no answer");
  });
  router.get("/mistake", () => {
    throw new TypeError("a mistake of ours");
  });
  router.post("/v1/webhooks/:token", () => {
    throw new Error("a mistake of ours");
  });
  router.get("/good", (ctx) => {
    ctx.body = {};
  });
  const refused: [path: string, status: number, code: string][] = [
    ["/away", 503, "metadata_unavailable"],
    ["/nothing", 404, "path_unknown"],
    ["/v1/svc_live_0123456789", 404, "path_unknown"],
  ];
  for (const [path, status, code] of refused) {
    it(`should be found for ${path} by the request_id of its answer`, async () => {
      await withApp(router, logger, async (base) => {
        // Twice: of a server that is away the error is logged once, the refused call each time.
        for (const _time of [1, 2]) {
          const answer: { error: { request_id: string } } = JSON.parse(
            await (await fetch(base + path)).text(),
          );
          const found = entries().filter(
            ({ request_id: id, msg }) => id === answer.error.request_id && msg === "call refused",
          );
          expect(found).to.have.length(1);
          expect(found[0]).to.include({ level: "debug", method: "GET", status, code });
        }
      });
      expect(lines.join("")).not.to.include("0123456789");
    });
  }

  it("should be an error for each mistake of ours, once for a server that is away", async () => {
    await withApp(router, logger, async (base) => {
      for (const path of ["away", "mistake", "away", "mistake", "away"]) {
        await (await fetch(`${base}/${path}`)).text();
      }
    });
    const errors = lines.filter((line) => line.includes('"level":"error"'));
    expect(errors.map((line) => /"type":"(\w+)"/.exec(line)?.[1])).to.eql([
      "PostgresUnavailable",
      "TypeError",
      "TypeError",
    ]);
  });

  it("should be written once in a while where many are alike, with how many were", () => {
    let now = 0;
    const throttle = new LogThrottle(10, () => now);
    const reported = [0, 1, 9, 10, 11, 25].map((at) => {
      now = at;
      return throttle.turn("one");
    });
    expect(reported).to.eql([0, null, null, 2, null, 1]);
    expect(throttle.turn("another")).to.equal(0);
  });

  it("should not hold the values of a statement that Postgres refuses", () => {
    const statement = { query: "SELECT $1", params: ["the-value"] };
    logger.error({ err: Object.assign(new Error("refused"), statement) }, "request failed");
    expect(lines.join("")).to.include("SELECT $1").and.not.include("the-value");
  });

  it("should not hold the URL of a webhook, which is a secret", async () => {
    await withApp(router, logger, async (base) => {
      const { status } = await fetch(`${base}/v1/webhooks/the-token`, { method: "POST" });
      expect(status).to.equal(500);
    });
    expect(lines.join("")).to.include("/v1/webhooks/…").and.not.include("the-token");
  });

  const ids: [title: string, trust: "on" | "off", given: string, isKept: boolean][] = [
    ["keep the id that a trusted proxy gave", "on", "Root=1-67891233-abcdef012345", true],
    ["not keep the id of a caller", "off", "Root=1-67891233-abcdef012345", false],
    ["not keep an id with spaces", "on", "a b", false],
    ["not keep an id that is too long", "on", "x".repeat(129), false],
  ];
  for (const [title, trust, given, isKept] of ids) {
    it(`should ${title}`, async () => {
      const use = async (base: string): Promise<void> => {
        const answer = await fetch(`${base}/good`, { headers: { "x-request-id": given } });
        expect(answer.headers.get("x-request-id") === given).to.equal(isKept);
      };
      await withApp(router, logger, use, { TRUST_PROXY: trust });
    });
  }

  it("should count refused calls by the address that a trusted proxy names", async () => {
    const statusesOf = async (base: string): Promise<number[]> => {
      const statuses: number[] = [];
      for (let call = 0; call < 7; call += 1) {
        const headers = { "x-forwarded-for": `10.0.0.9, 10.0.0.${call}` };
        statuses.push((await fetch(`${base}/nothing`, { headers })).status);
      }
      return statuses;
    };
    await withApp(
      router,
      logger,
      async (base) => {
        expect(await statusesOf(base)).not.to.include(429);
      },
      { TRUST_PROXY: "on" },
    );
    await withApp(router, logger, async (base) => {
      expect(await statusesOf(base)).to.include(429);
    });
  });
});
