/** What must not be in the log, whatever goes wrong. */
import Router from "@koa/router";
import { expect } from "chai";
import { keptLog } from "../harness/kept-log.js";
import { withApp } from "../harness/bare-app.js";

describe("The log", () => {
  const { logger, lines } = keptLog("error");
  beforeEach(() => {
    lines.length = 0;
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
    await withApp(router, logger, async (base) => {
      const { status } = await fetch(`${base}/v1/webhooks/the-token`, { method: "POST" });
      expect(status).to.equal(500);
    });
    expect(lines.join("")).to.include("/v1/webhooks/…").and.not.include("the-token");
  });
});
