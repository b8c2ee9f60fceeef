/** `complete_to` across restarts: what was reported stays, whatever becomes of the clock. */
import { expect } from "chai";
import { LocalReceipts } from "../../watermark/in-flight-receipts.js";
import type { Postgres } from "../../postgres/postgres.js";
import { Releases } from "../../runtime/releases.js";
import { openSharedReceipts } from "../../watermark/shared-watermark.js";
import { PersistedWatermark } from "../../watermark/persisted-watermark.js";
import { limits } from "../../config.js";
import { openTestPostgres, testLogger } from "../harness/stores.js";

const minuteMs = 60_000;
const aheadMs = 1_000;

describe("What was reported as complete", () => {
  let postgres: Postgres;
  before(async () => {
    postgres = await openTestPostgres();
  });
  beforeEach(() => postgres.query("DELETE FROM persisted_watermark"));
  after(() => postgres.query("DELETE FROM persisted_watermark"));

  /** A process that begins at a time of its clock, and its endpoints. */
  async function begin(at: number) {
    const reported = await PersistedWatermark.open({ postgres, logger: testLogger }, at, aheadMs);
    const clock = { at };
    return { reported, clock, endpoints: new LocalReceipts(() => clock.at, reported) };
  }

  const restarts: [title: string, setBackMs: number, isKept: boolean][] = [
    ["a clock that goes on", -minuteMs, true],
    ["a clock set back a little", minuteMs, true],
    ["a clock set back by an hour", 60 * minuteMs, true],
    ["a clock that was wrong by days", 3 * 24 * 60 * minuteMs, false],
  ];
  for (const [title, setBackMs, isKept] of restarts) {
    it(`should ${isKept ? "" : "not "}be stamped after, with ${title}`, async () => {
      const first = await begin(1_000_000_000_000);
      first.clock.at += 10 * minuteMs;
      const reported = (await first.endpoints.earliest()) - 1;
      expect(reported).to.equal(first.clock.at - 1);
      // Killed: nothing is written at its end.
      const next = await begin(first.clock.at - setBackMs);
      expect(next.endpoints.receive(0).receivedAt > reported).to.equal(isKept);
      expect((await next.endpoints.earliest()) > reported).to.equal(isKept);
    });
  }

  it("should not put a stamp ahead of the clock after a stop", async () => {
    const first = await begin(1_000_000_000_000);
    first.clock.at += minuteMs;
    await first.endpoints.earliest();
    await first.reported.end();
    const next = await begin(first.clock.at + 1);
    expect(next.endpoints.receive(0).receivedAt).to.equal(next.clock.at);
  });

  it("should be stamped after by several processes, too", async () => {
    const ahead = Date.now() + limits.clockSetBackMsMax / 2;
    await postgres.query("INSERT INTO persisted_watermark (until) VALUES ($1)", [ahead]);
    const releases = new Releases(testLogger);
    const endpoints = await openSharedReceipts({
      process: "reported",
      postgres,
      logger: testLogger,
      releases,
      now: Date.now,
      onOthers: () => expect.fail("it is alone"),
    });
    expect(endpoints.receive(0).receivedAt).to.be.greaterThan(ahead);
    await releases.release();
  });
});
