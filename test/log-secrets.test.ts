/** What must not be in the log, whatever goes wrong. */
import { once } from "node:events";
import Router from "@koa/router";
import { expect } from "chai";
import { createApp } from "../backends/http/app.js";
import { CallLimits } from "../backends/http/limits.js";
import { createHttpServer } from "../backends/http/server.js";
import { createLogger } from "../backends/logger.js";
import { createMetrics } from "../backends/metrics.js";

describe("The log", () => {
  let lines: string[] = [];
  const logger = createLogger("error", { write: (line: string) => void lines.push(line) });
  beforeEach(() => {
    lines = [];
  });

  it("should not hold the values of a statement that Postgres refuses", () => {
    const error = Object.assign(new Error("refused"), {
      query: "SELECT $1",
      params: ["the-value"],
    });
    logger.error({ err: error }, "request failed");
    expect(lines.join("")).to.include("SELECT $1").and.not.include("the-value");
  });

  it("should not hold the URL of a webhook, which is a secret", async () => {
    const router = new Router();
    router.post("/v1/webhooks/:token", () => {
      throw new Error("a mistake of ours");
    });
    const limits = new CallLimits({ RATE_LIMIT_PER_KEY: 5, RATE_LIMIT_REFUSED: 5 });
    const app = createApp({ limits, logger, metrics: createMetrics(), router });
    const server = createHttpServer(app).listen(0);
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("not on a port");
    const url = `http://localhost:${address.port}/v1/webhooks/the-token`;
    expect((await fetch(url, { method: "POST" })).status).to.equal(500);
    server.closeAllConnections();
    server.close();
    expect(lines.join("")).to.include("/v1/webhooks/…").and.not.include("the-token");
  });
});
