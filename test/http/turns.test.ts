import { expect } from "chai";
import { ApiError } from "../../schemas/http/errors.js";
import { Turns } from "../../http/turns.js";
import { rejection } from "../harness/promises.js";

describe("turns of a caller", () => {
  let ends: (() => void)[];
  let begun: string[];
  let turns: Turns;
  beforeEach(() => {
    ends = [];
    begun = [];
    turns = new Turns({ running: 2, waiting: 2 });
  });

  const ask = (caller: string, name: string): Promise<string> =>
    turns.run(caller, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      return name;
    });
  const endFirst = async (): Promise<void> => {
    ends.shift()?.();
    await new Promise(setImmediate);
  };

  it("should be so many at a time, in the order they came, and refused beyond a line", async () => {
    const asked = ["1", "2", "3", "4"].map((name) => ask("a", name));
    expect(begun).to.eql(["1", "2"]);
    const refused = await rejection(ask("a", "5"));
    if (!(refused instanceof ApiError)) throw refused;
    expect([refused.status, refused.code]).to.eql([429, "too_many_waiting"]);
    expect(refused.headers).to.have.property("Retry-After", "1");
    await endFirst();
    expect(begun).to.eql(["1", "2", "3"]);
    while (ends.length > 0) await endFirst();
    expect(await Promise.all(asked)).to.eql(["1", "2", "3", "4"]);
  });

  it("should not be taken by another caller", async () => {
    for (const name of ["1", "2", "3"]) void ask("a", name);
    void ask("b", "other");
    expect(begun).to.eql(["1", "2", "other"]);
    while (ends.length > 0) await endFirst();
    expect(begun).to.eql(["1", "2", "other", "3"]);
  });

  it("should be given back by what fails", async () => {
    const fail = () => turns.run("a", () => Promise.reject(new Error("no")));
    await Promise.allSettled(Array.from({ length: 4 }, fail));
    void ask("a", "next");
    expect(begun).to.eql(["next"]);
    await endFirst();
  });
});
