/** Who has the process to itself while callers crowd at the endpoints. */
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { Slices, yieldToCallers } from "../../processors/consumers.js";

describe("booking beside the endpoints", () => {
  it("should take turns one by one while few call", async () => {
    expect(await turnsOfOthers({ callsInFlight: 3 })).to.be.below(5);
  });

  it("should leave callers who crowd many turns for one of its own, and go on", async () => {
    expect(await turnsOfOthers({ callsInFlight: 64 })).to.be.above(20);
  });

  it("should begin as soon as the crowd is gone", async () => {
    const watermark = { callsInFlight: 64 };
    let hasBegun = false;
    const begun = yieldToCallers(watermark).then(() => (hasBegun = true));
    await turn();
    expect(hasBegun).to.equal(false);
    watermark.callsInFlight = 0;
    expect(await begun).to.equal(true);
  });
});

/**
 * Turns that others have between two slices of some work: the most of some pairs, since a busy
 * machine may stop the whole process during one pause.
 */
async function turnsOfOthers(watermark: { callsInFlight: number }): Promise<number> {
  const slices = new Slices(watermark);
  let turns = 0;
  const over = new AbortController();
  const others = (async () => {
    for (; !over.signal.aborted; turns += 1) await turn();
  })();
  const counts: number[] = [];
  for (let pair = 0; pair < 10; pair += 1) {
    const until = performance.now() + 10;
    while (performance.now() < until);
    const before = turns;
    await slices.letOthersRun();
    counts.push(turns - before);
  }
  over.abort();
  await others;
  return Math.max(...counts);
}
