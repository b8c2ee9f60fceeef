import { expect } from "chai";
import { Lookout, News } from "../../runtime/lookout.js";
import { Pace } from "../../runtime/pace.js";

/** Longer than any test: what rests for so long was not woken. */
const foreverMs = 600_000;

describe("The pace of work that costs the same for little as for much", () => {
  const rare = { shareMax: 1e-9, restMsMax: foreverMs };

  it("should let the first begin at once", async () => {
    await new Pace(rare).turn();
  });

  const wakings: [title: string, wake: (pace: Pace) => void][] = [
    ["somebody waits for it", (pace) => pace.hurry()],
    ["all is to end", (pace) => pace.close()],
  ];
  for (const [title, wake] of wakings) {
    it(`should let the next rest after it, until ${title}`, async () => {
      const pace = new Pace(rare);
      pace.ended(1);
      let isTurn = false;
      const turn = pace.turn().then(() => (isTurn = true));
      await new Promise(setImmediate);
      expect(isTurn).to.equal(false);
      wake(pace);
      await turn;
    });
  }

  it("should rest when hurried, too, as far as its share says", async () => {
    const pace = new Pace({ ...rare, hurriedShareMax: 1e-9 });
    pace.ended(1);
    pace.hurry();
    const stop = new AbortController();
    let isTurn = false;
    const turn = pace.turn(stop.signal).then(() => (isTurn = true));
    await new Promise(setImmediate);
    expect(isTurn).to.equal(false);
    stop.abort();
    await turn;
  });

  it("should rest no longer than it may", async () => {
    const pace = new Pace({ shareMax: 1e-9, restMsMax: 1 });
    pace.ended(1_000);
    await pace.turn();
  });
});

describe("Looking for work that is mostly not there", () => {
  it("should look at once when there is news, and often from then on", async () => {
    const news = new News();
    let clock = 0;
    const lookout = new Lookout(news, { everyMs: 1, calmEveryMs: foreverMs }, () => clock);
    const { signal } = new AbortController();
    // A start is news.
    await lookout.rest(signal);
    clock += foreverMs;
    const resting = lookout.rest(signal);
    news.announce();
    await resting;
    await lookout.rest(signal);
  });

  it("should end when it is stopped", async () => {
    const stop = new AbortController();
    const lookout = new Lookout(new News(), { everyMs: foreverMs, calmEveryMs: foreverMs });
    const resting = lookout.rest(stop.signal);
    stop.abort();
    await resting;
    await lookout.rest(stop.signal);
  });
});
