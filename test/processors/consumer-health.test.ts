import { expect } from "chai";
import { limits } from "../../config.js";
import { ConsumerHealth } from "../../processors/consumers.js";
import { rejection } from "../harness/promises.js";

describe("health of a consumer", () => {
  let now = 0;
  let health: ConsumerHealth;
  beforeEach(() => {
    now = 0;
    health = new ConsumerHealth(() => now);
  });
  const fail = () => rejection(health.watch(() => Promise.reject(new Error("away"))));

  it("should say that a batch failed until one is handled", async () => {
    health.check();
    await fail();
    expect(() => health.check()).to.throw("the last batch failed");
    await health.watch(async () => {});
    health.check();
  });

  it("should be well when the batch that failed went to another member", async () => {
    await fail();
    now = limits.retryPauseMsMax;
    expect(() => health.check()).to.throw("the last batch failed");
    now = 2 * limits.retryPauseMsMax + 1;
    health.check();
  });

  it("should report a failure while the batch is tried again, for however long", async () => {
    await fail();
    let end = (): void => {};
    const again = health.watch(() => new Promise<void>((resolve) => (end = resolve)));
    now = 10 * limits.retryPauseMsMax;
    expect(() => health.check()).to.throw("the last batch failed");
    end();
    await again;
    health.check();
  });
});
