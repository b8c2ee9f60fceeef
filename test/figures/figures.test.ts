/**
 * The proof, in short: random portfolios in random order, booked by processes that crash, fail and
 * stall; every figure is the reference model's (pipeline/proof.ts). `npm run fuzz` goes on for
 * longer. `FUZZ_SEED` and `FUZZ_PATH` (printed by a failure) repeat a case; days count back from
 * today. And once through the real endpoints, with the service's own consumers.
 */
import { join } from "node:path";
import * as fc from "fast-check";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { lmdbTopics } from "../log/log-topics.js";
import { expectChanges } from "../model/compare/compare-explanations.js";
import { expectFigures } from "../model/compare/compare.js";
import { figuresOf } from "../model/figures.js";
import { openMerchant, sendAll, sentByWebhook, whenBooked } from "../model/merchant.js";
import { type Portfolio, portfolios } from "../model/stories/portfolio.js";
import { secondMs } from "../model/stories/story.js";
import { type Bench, casesUntil, endOfYesterday, nothingSeen, prove } from "../pipeline/proof.js";
import { openTestService, type TestService } from "../harness/service.js";
import { testFolder, testLogger, testReleases } from "../harness/stores.js";

/** No case is begun later, but for the first, and those that shrink a failure. */
const beginsWithinMs = 6 * secondMs;
const runs = 12;
const serverRuns = 3;
/**
 * A failure is made smaller for so long, and then reported with its seed; before mocha gives up.
 */
const shrunkWithinMs = 150 * secondMs;
const givenUpAfterMs = 180 * secondMs;

describe("figures", () => {
  let opened: TestService;
  before(async () => {
    opened = await openTestService();
  });

  it("should be the reference model's, whatever crashes, fails, stalls or repeats", async () => {
    const bench = await openBench(opened);
    const property = fc.asyncProperty(
      casesUntil(endOfYesterday),
      inTime((drawn) => prove(bench, drawn)),
    );
    await fc.assert(property, {
      numRuns: runs,
      plugins: [fc.interruptAfterTimeLimit(shrunkWithinMs)],
      includeErrorInReport: true,
      ...repeated(),
    });
  }).timeout(givenUpAfterMs);

  it("should be the reference model's when sent through the endpoints", async () => {
    const property = fc.asyncProperty(
      portfolios(endOfYesterday),
      inTime((drawn) => proveAtTheEndpoints(opened, drawn)),
    );
    await fc.assert(property, {
      numRuns: serverRuns,
      plugins: [fc.interruptAfterTimeLimit(shrunkWithinMs)],
      includeErrorInReport: true,
    });
  }).timeout(givenUpAfterMs);
});

/** However slow the machine, the first case runs whole. */
function inTime<T>(proof: (drawn: T) => Promise<void>): (drawn: T) => Promise<void> {
  const begun = Date.now();
  let isFirst = true;
  let hasFailed = false;
  return async (drawn) => {
    if (!isFirst && !hasFailed && Date.now() - begun > beginsWithinMs) return;
    isFirst = false;
    try {
      await proof(drawn);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
}

async function openBench(opened: TestService): Promise<Bench> {
  const log = openLmdbLog({
    path: join(testFolder, "log-of-the-proof"),
    topics: lmdbTopics({ partitions: 3 }),
    logger: testLogger,
  });
  testReleases.push("log of the proof", () => log.close());
  return { service: opened.service, endpoint: opened, log, seen: nothingSeen() };
}

function repeated(): { seed?: number; path?: string } {
  const { FUZZ_SEED: seed, FUZZ_PATH: path } = process.env;
  return {
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path }),
  };
}

/** Halfway it notes what is known, and asks for it again when all has come. */
async function proveAtTheEndpoints(endpoint: TestService, drawn: Portfolio): Promise<void> {
  const { base } = drawn;
  const deliveries = sentByWebhook(drawn.deliveries);
  const merchant = await openMerchant(endpoint, base);
  const half = Math.floor(deliveries.length / 2);
  const early = await sendAll(merchant, deliveries.slice(0, half));
  const knownAt = await whenBooked(merchant);
  const late = await sendAll(merchant, deliveries.slice(half));
  await whenBooked(merchant);
  const now = figuresOf([...early, ...late], base);
  const then = figuresOf(early, base, now.names);
  await expectFigures(merchant, now, endOfYesterday + secondMs);
  await expectFigures(merchant, then, endOfYesterday + secondMs, knownAt, ["lifetime"]);
  await expectChanges(merchant, then, now, endOfYesterday + secondMs, knownAt);
}
