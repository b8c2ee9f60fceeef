/** How the next page of a filtered list is read, by what the ones before reported. */
import { expect } from "chai";
import { PassingRows } from "../../api/transactions/filter-selectivity.js";

describe("What is known of filtered lists", () => {
  const cases: readonly (readonly [
    title: string,
    passed: number,
    read: number,
    rows: number | null,
  ])[] = [
    ["all rows pass", 600, 600, 64],
    ["a third passes, which has three versions each", 200, 600, 192],
    ["a twentieth passes", 32, 600, 1_196],
    ["a few pass", 30, 600, null],
    ["nobody passes", 0, 600, null],
  ];
  for (const [title, passed, read, rows] of cases) {
    it(`should say how many rows to read where ${title}`, () => {
      const passing = new PassingRows();
      passing.learn("list", passed, read);
      expect(passing.rowsFor("list", 51)).to.equal(rows);
    });
  }

  it("should look at lists nothing is known of, and again after a while", () => {
    let now = 1;
    const passing = new PassingRows(() => now);
    expect(passing.rowsFor("list", 51)).to.equal(600);
    passing.learn("list", 0, 600);
    now = 600_001;
    expect(passing.rowsFor("list", 51)).to.equal(null);
    now = 600_002;
    expect(passing.rowsFor("list", 51)).to.equal(600);
  });

  it("should forget the list it learned of longest ago", () => {
    const passing = new PassingRows();
    for (const list of ["first", "second"]) passing.learn(list, 0, 600);
    passing.learn("first", 0, 600);
    for (let list = 0; list < 999; list += 1) passing.learn(`${list}`, 0, 600);
    expect(passing.rowsFor("first", 51)).to.equal(null);
    expect(passing.rowsFor("second", 51)).to.equal(600);
  });
});
