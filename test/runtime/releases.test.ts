import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { createLogger } from "../../runtime/logger.js";
import { Releases } from "../../runtime/releases.js";
import { rejection } from "../harness/promises.js";

describe("Releases", () => {
  it("should run in reverse, once, all of them, and report the first failure", async () => {
    const releases = new Releases(createLogger("silent"));
    const released: string[] = [];
    releases.push("log", () => void released.push("log"));
    releases.push("store", async () => {
      released.push("store");
      throw new Error("store is stuck");
    });
    releases.push("role", () => {
      released.push("role");
      releases.push("late", () => void released.push("late"));
      throw new Error("role is stuck");
    });
    const outcomes = [releases.release(), releases.release()].map(rejection);
    for (const error of await Promise.all(outcomes)) expect(error).to.match(/role is stuck/);
    expect(released).to.eql(["role", "late", "store", "log"]);
  });

  it("should stop what runs, and wait for its end", async () => {
    const releases = new Releases(createLogger("silent"));
    const seen: string[] = [];
    releases.run("upkeep", async (stop) => {
      await new Promise((resolve) => stop.addEventListener("abort", resolve));
      await setImmediate();
      seen.push("ended");
    });
    await releases.release();
    expect(seen).to.eql(["ended"]);
  });
});
