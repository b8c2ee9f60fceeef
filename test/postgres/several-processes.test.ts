/** What several processes over the same servers agree on by Postgres. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import type { InFlightReceipts } from "../../stores/watermark/in-flight-receipts.js";
import {
  alone,
  giveTurnBack,
  heldLeases,
  takeTurn,
  tryExclusively,
} from "../../stores/postgres/leases.js";
import { type Postgres, PostgresUnavailable } from "../../stores/postgres/postgres.js";
import { openRates } from "../../workspaces/rates/rates.js";
import { Editions } from "../../workspaces/rates/editions.js";
import { Releases } from "../../runtime/releases.js";
import { openSharedReceipts } from "../../stores/watermark/shared-watermark.js";
import { takeExclusiveLease, OthersRun } from "../../stores/postgres/exclusive-lease.js";
import { readConfig } from "../../config.js";
import { rejection, until } from "../harness/promises.js";
import { openTestPostgres, testLogger } from "../harness/stores.js";

describe("Several processes", () => {
  let postgres: Postgres;
  let releases = new Releases(testLogger);
  /** Of processes that found themselves beside others, in the place of their ends. */
  let ends: OthersRun[];
  const onOthers = (why: OthersRun): unknown => ends.push(why);
  before(async () => {
    postgres = await openTestPostgres();
  });
  beforeEach(() => {
    ends = [];
  });
  const stopAll = async () => {
    await releases.release();
    releases = new Releases(testLogger);
  };
  afterEach(stopAll);

  /** A process whose clock is off by so many ms. */
  const openEndpoints = (
    offMs = 0,
    process = randomUUID(),
    own = releases,
  ): Promise<InFlightReceipts> =>
    openSharedReceipts({
      process,
      postgres,
      logger: testLogger,
      config: {},
      releases: own,
      now: () => Date.now() + offMs,
      onOthers,
    });

  const lapse = (table: "ingest_processes" | "leases") =>
    postgres.query(`UPDATE ${table} SET until = clock_timestamp() - interval '1 second'`);
  const leased = (name: string) =>
    postgres.query("INSERT INTO leases VALUES ($1, 'dead', now() + interval '1 hour')", [name]);

  describe("at their endpoints", () => {
    for (const [clock, offMs] of [
      ["right", 0],
      ["ahead", 60_000],
      ["behind", -60_000],
    ] as const) {
      it(`should wait for a call that another takes, whose clock is ${clock}`, async () => {
        const [own, other] = [await openEndpoints(), await openEndpoints(offMs)];
        const receipt = other.receive(0);
        expect(await own.earliest()).to.be.at.most(receipt.receivedAt);
        await pause(600);
        expect(await own.earliest()).to.be.at.most(receipt.receivedAt);
        receipt.settle();
        if (offMs < 0) return;
        const before = Date.now();
        await until(async () => (await own.earliest()) > before - 300);
      });
    }

    it("should hold up a workspace by calls of its own only, whoever takes them", async () => {
      const [own, other] = [await openEndpoints(), await openEndpoints()];
      const receipt = other.receive(0, "importing");
      await until(async () => (await own.earliest("another")) > receipt.receivedAt);
      expect(await own.earliest("importing")).to.equal(receipt.receivedAt);
      expect(await own.earliest()).to.equal(receipt.receivedAt);
      expect(other.receive(0, "importing").receivedAt).to.be.greaterThan(receipt.receivedAt);
      receipt.settle();
    });

    it("should believe a process of before, which promises for all workspaces", async () => {
      const own = await openEndpoints();
      await postgres.query(
        `INSERT INTO ingest_processes (process, earliest, until)
         VALUES ('of before', 7, clock_timestamp() + interval '1 minute')`,
      );
      await until(async () => (await own.earliest("another")) === 7);
      await postgres.query("DELETE FROM ingest_processes WHERE process = 'of before'");
    });

    it("should wait for what another sent that was refused, though it stopped", async () => {
      const own = await openEndpoints();
      const [stopped, itsOwn] = [randomUUID(), new Releases(testLogger)];
      const receipt = (await openEndpoints(0, stopped, itsOwn)).receive(0);
      receipt.settleLater(new Promise(() => undefined));
      await itsOwn.release();
      await pause(600);
      expect(await own.earliest()).to.be.at.most(receipt.receivedAt);
      await postgres.query("DELETE FROM ingest_processes WHERE process = $1", [stopped]);
      await until(async () => (await own.earliest()) > receipt.receivedAt);
    });

    it("should stamp nothing at or before what another reported, even a newcomer", async () => {
      const own = await openEndpoints();
      for (let time = 0; time < 20; time += 1) {
        const reported = (await own.earliest()) - 1;
        expect(reported).to.be.greaterThan(Date.now() - 2_000);
        const itsOwn = new Releases(testLogger);
        const newcomer = await openEndpoints(-5_000, randomUUID(), itsOwn);
        expect(newcomer.receive(0).receivedAt).to.be.greaterThan(reported);
        await itsOwn.release();
      }
    });

    it("should let no stamp count from before a silence in which others went on", async () => {
      const own = await openEndpoints();
      const old = own.receive(0);
      own.check(old.receivedAt);
      await lapse("ingest_processes");
      const reported = (await (await openEndpoints()).earliest()) - 1;
      // While it asks to be let in again, it refuses all.
      await until(async () => isRefused(own, old.receivedAt) && !isRefused(own, Infinity));
      expect(own.receive(0).receivedAt).to.be.greaterThan(reported);
      old.settle();
    });
  });

  it("should learn of rates that another added", async () => {
    const config = readConfig({ RATES_REFRESH: "off" });
    const given = { postgres, config, logger: testLogger, releases, shared: true, seenMs: 100 };
    const rates = await openRates(given);
    const reported = new Promise<number>((resolve) => rates.onEdition(resolve));
    const other = await Editions.open(postgres);
    await other.append("of another process", [
      { source: "wide", day: "2026-11-01", currency: "XPF", perEur: "119.331742" },
    ]);
    expect(await reported).to.equal(other.table.edition);
    expect(rates.edition).to.equal(other.table.edition);
  });

  describe("beside a command that must be alone", () => {
    const begin = (process = randomUUID()) =>
      takeExclusiveLease({ process, postgres, logger: testLogger, releases, onOthers });

    it("should keep it away until they have gone", async () => {
      await openEndpoints();
      expect(String(await rejection(begin()))).to.match(/OthersRun: 1 process runs.*stop/);
      await stopAll();
      await begin();
    });

    it("should not start, nor begin another, until it has ended", async () => {
      const own = randomUUID();
      const sole = await begin(own);
      await openEndpoints(0, own);
      for (const refused of [openEndpoints, begin]) {
        expect(String(await rejection(refused()))).to.match(/OthersRun: A command .*after it has/);
      }
      sole.check();
      await stopAll();
      await openEndpoints();
    });

    it("should never both go on when they come at the same moment", async () => {
      for (let time = 0; time < 20; time += 1) {
        const came = await Promise.allSettled([openEndpoints(), begin()]);
        expect(came.filter(({ status }) => status === "fulfilled").length).to.be.at.most(1);
        await stopAll();
      }
    });

    it("should start when it is dead and its row has run out", async () => {
      await leased("being alone");
      expect(await rejection(openEndpoints())).to.be.instanceOf(OthersRun);
      await lapse("leases");
      await openEndpoints();
    });

    it("should end it, and let it write nothing more, once its row has run out", async () => {
      const sole = await begin();
      sole.check();
      await lapse("leases");
      await until(async () => ends.length > 0);
      expect(() => sole.check()).to.throw(OthersRun, "run the command again");
      await openEndpoints();
      await pause(1_500);
      expect(ends, "reported once").to.have.length(1);
    });

    it("should end rather than go on after a silence in which it began", async () => {
      await openEndpoints();
      // As if it had begun between: nobody may look at the endpoints and find this one.
      await leased("being alone");
      await lapse("ingest_processes");
      await until(async () => ends.length > 0);
      expect(String(ends[0])).to.include("A command that needs these servers for itself");
      await lapse("leases");
    });
  });

  describe("with something for one of them", () => {
    it("should let one take its turn, and the next when it was given back", async () => {
      const take = () => takeTurn(postgres, "test turn", 60_000);
      const taken = await Promise.all([take(), take(), take()]);
      expect(taken.filter(Boolean)).to.have.length(1);
      expect(await take()).to.equal(false);
      await giveTurnBack(postgres, "test turn");
      expect(await take()).to.equal(true);
    });

    it("should do alone what is to be done alone, one after the other", async () => {
      let [now, most] = [0, 0];
      const work = async () => {
        now += 1;
        most = Math.max(most, now);
        await pause(20);
        now -= 1;
      };
      const refused = await alone(postgres, "test work", () =>
        tryExclusively(postgres, "test work", work),
      );
      expect(refused).to.equal(null);
      await Promise.all(Array.from({ length: 4 }, () => alone(postgres, "test work", work)));
      expect(most).to.equal(1);
      expect(await heldLeases(postgres, "test work")).to.eql([]);
    });

    it("should go on with what a dead process was at, when its time is over", async () => {
      await leased("test death");
      const attempt = () => tryExclusively(postgres, "test death", async () => "done");
      expect(await attempt()).to.equal(null);
      expect(await heldLeases(postgres, "test death")).to.eql(["test death"]);
      await lapse("leases");
      expect(await attempt()).to.eql({ result: "done" });
    });
  });
});

function isRefused(endpoints: InFlightReceipts, receivedAt: number): boolean {
  try {
    endpoints.check(receivedAt);
    return false;
  } catch (error) {
    return error instanceof PostgresUnavailable;
  }
}
