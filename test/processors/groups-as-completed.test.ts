import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { groupsAsCompleted } from "../../processors/enrich/enrich-required.js";

/** @param order in which works 0, 1, 2 … end; a negative one fails then */
async function groupsOf(order: readonly number[], pauseMs: number) {
  const ends: (() => void)[] = [];
  const works = order.map(
    (_, work) =>
      new Promise<number>((resolve, reject) => {
        const fails = order.some((each) => Object.is(each, -work));
        ends[work] = () => (fails ? reject(new Error(`work ${work}`)) : resolve(work));
      }),
  );
  const groups: (readonly number[])[] = [];
  const taking = (async () => {
    for await (const group of groupsAsCompleted(works)) {
      groups.push(group);
      await pause(pauseMs);
    }
  })();
  const failed = taking.then(
    () => null,
    (error: unknown) => String(error),
  );
  for (const work of order) {
    ends[Math.abs(work)]?.();
    await pause(1);
  }
  const error = await failed;
  return { groups: groups.flat(), failed: error, largest: Math.max(0, ...sizesOf(groups)) };
}

const sizesOf = (groups: readonly (readonly number[])[]) => groups.map(({ length }) => length);

describe("Promises yielded in groups as they complete", () => {
  it("should be taken in the order they end, each once", async () => {
    const { groups, failed } = await groupsOf([2, 0, 3, 1], 0);
    expect([groups, failed]).to.deep.equal([[2, 0, 3, 1], null]);
  });

  it("should be taken together when they ended meanwhile", async () => {
    const { groups, largest } = await groupsOf([3, 2, 1, 0], 100);
    expect(groups).to.have.members([0, 1, 2, 3]);
    expect(largest).to.be.greaterThan(1);
  });

  it("should fail when one does, after all others were taken", async () => {
    const { groups, failed } = await groupsOf([0, -1, 3, 2], 0);
    expect([groups, failed]).to.deep.equal([[0, 3, 2], "Error: work 1"]);
  });

  it("should be none of none", async () => {
    expect(await groupsOf([], 0)).to.deep.equal({ groups: [], failed: null, largest: 0 });
  });
});
