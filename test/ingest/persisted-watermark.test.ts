/** `complete_to` across restarts: what was reported stays, whatever becomes of the clock. */
import { expect } from "chai";
import { LocalReceipts } from "../../stores/watermark/in-flight-receipts.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { Releases } from "../../runtime/releases.js";
import { openSharedReceipts } from "../../stores/watermark/shared-watermark.js";
import {
  type ClockGiven,
  PersistedWatermark,
  clockSetBackMsMax,
} from "../../stores/watermark/persisted-watermark.js";
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
  async function begin(at: number, config: ClockGiven = {}) {
    const reported = await PersistedWatermark.open(
      { postgres, logger: testLogger, config },
      at,
      aheadMs,
    );
    const clock = { at };
    return { reported, clock, endpoints: new LocalReceipts(() => clock.at, reported) };
  }

  const restarts: [title: string, setBackMs: number][] = [
    ["a clock that goes on", -minuteMs],
    ["a clock set back a little", minuteMs],
    ["a clock set back by an hour", 60 * minuteMs],
  ];
  for (const [title, setBackMs] of restarts) {
    it(`should be stamped after, with ${title}`, async () => {
      const first = await begin(1_000_000_000_000);
      first.clock.at += 10 * minuteMs;
      const reported = (await first.endpoints.earliest()) - 1;
      expect(reported).to.equal(first.clock.at - 1);
      // Killed: nothing is written at its end.
      const next = await begin(first.clock.at - setBackMs);
      expect(next.endpoints.receive(0).receivedAt).to.be.greaterThan(reported);
      expect(await next.endpoints.earliest()).to.be.greaterThan(reported);
    });
  }

  it("should refuse a start by a clock set back by days, until told it is right", async () => {
    const first = await begin(1_000_000_000_000);
    await first.endpoints.earliest();
    await first.reported.end();
    const setBack = first.clock.at - 3 * 24 * 60 * minuteMs;
    const until = "2001-09-09T01:46:40.000Z";
    for (const config of [{}, { CLOCK_SET_BACK_FROM: setBack }]) {
      const refusal = await begin(setBack, config).then(
        () => "",
        (error: Error) => `${error.name} ${error.message}`,
      );
      expect(refusal).to.match(/^ClockSetBack The clock says 2001-09-06T01:46:40.000Z, /);
      expect(refusal).to.contain(`CLOCK_SET_BACK_FROM=${until}`);
    }
    const next = await begin(setBack, { CLOCK_SET_BACK_FROM: Date.parse(until) });
    expect(next.endpoints.receive(0).receivedAt).to.equal(setBack);
    await next.reported.end();
    const again = await begin(setBack);
    expect(again.endpoints.receive(0).receivedAt).to.equal(setBack);
  });

  it("should not put a stamp ahead of the clock after a stop", async () => {
    const first = await begin(1_000_000_000_000);
    first.clock.at += minuteMs;
    await first.endpoints.earliest();
    await first.reported.end();
    const next = await begin(first.clock.at + 1);
    expect(next.endpoints.receive(0).receivedAt).to.equal(next.clock.at);
  });

  it("should be stamped after by several processes, too", async () => {
    const ahead = Date.now() + clockSetBackMsMax / 2;
    await postgres.query("INSERT INTO persisted_watermark (until) VALUES ($1)", [ahead]);
    const releases = new Releases(testLogger);
    const endpoints = await openSharedReceipts({
      process: "reported",
      postgres,
      logger: testLogger,
      config: {},
      releases,
      now: Date.now,
      onOthers: () => expect.fail("it is alone"),
    });
    expect(endpoints.receive(0).receivedAt).to.be.greaterThan(ahead);
    await releases.release();
  });
});
