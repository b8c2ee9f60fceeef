import Router from "@koa/router";
import { expect } from "chai";
import { keptLog } from "../harness/kept-log.js";
import { PostgresUnavailable } from "../../postgres/postgres.js";
import { LogThrottle } from "../../runtime/log-throttle.js";
import { withApp } from "../harness/bare-app.js";

describe("What many calls meet alike", () => {
  it("should be reported once in a while, with how many were like it", () => {
    let now = 0;
    const seldom = new LogThrottle(10, () => now);
    const reported = [0, 1, 9, 10, 11, 25].map((at) => {
      now = at;
      return seldom.turn("one");
    });
    expect(reported).to.eql([0, null, null, 2, null, 1]);
    expect(seldom.turn("another")).to.equal(0);
  });

  it("should fill the log with mistakes of ours only, not with a server that is away", async () => {
    const { logger, lines } = keptLog("error");
    const router = new Router();
    router.get("/away", () => {
      throw new PostgresUnavailable("it does not answer");
    });
    router.get("/mistake", () => {
      throw new TypeError("a mistake of ours");
    });
    await withApp(router, logger, async (base) => {
      for (const path of ["away", "mistake", "away", "mistake", "away"]) {
        await (await fetch(`${base}/${path}`)).text();
      }
    });
    const errors = lines.map((line) => /"type":"(\w+)"/.exec(line)?.[1]);
    expect(errors).to.eql(["PostgresUnavailable", "TypeError", "TypeError"]);
  });
});
