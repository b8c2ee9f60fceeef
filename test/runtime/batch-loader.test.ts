import { expect } from "chai";
import { AskedTogether } from "../../runtime/batch-loader.js";

describe("What is asked together", () => {
  it("should share a run, and the next one while it runs", async () => {
    const runs: string[] = [];
    const asked = new AskedTogether(3, (items: readonly string[]) => {
      runs.push(items.join());
      return Promise.resolve((item: string) => item.toUpperCase());
    });
    const answers = await Promise.all(["a", "b", "c", "d"].map((item) => asked.ask(item)));
    expect(answers).to.deep.equal(["A", "B", "C", "D"]);
    expect(await asked.ask("e")).to.equal("E");
    expect(runs).to.deep.equal(["a,b,c", "d", "e"]);
  });

  it("should fail for one item only when its answer cannot be read", async () => {
    const asked = new AskedTogether(3, () =>
      Promise.resolve((item: string) => {
        if (item === "bad") throw new Error("it cannot be read");
        return item;
      }),
    );
    const settled = await Promise.allSettled(["one", "bad", "two"].map((item) => asked.ask(item)));
    expect(settled.map(({ status }) => status)).to.deep.equal([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
  });

  it("should fail for all that share a run that failed, and go on after it", async () => {
    let runs = 0;
    const asked = new AskedTogether(3, async () => {
      runs += 1;
      if (runs === 1) throw new Error("the store is away");
      return (item: string) => item;
    });
    const first = await Promise.allSettled([asked.ask("one"), asked.ask("two")]);
    expect(first.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    expect(await asked.ask("three")).to.equal("three");
  });
});
