/** How a proof shows a figure: rounding that never says more, and an index without amounts. */
import { expect } from "chai";
import { chartOf } from "../../api/proofs/page.js";
import { rounded, shownFigures } from "../../api/proofs/shown.js";

describe("A figure as a proof shows it", () => {
  const cases: readonly (readonly [value: bigint, twoDigits: bigint, atLeast: bigint])[] = [
    [0n, 0n, 0n],
    [1n, 1n, 1n],
    [7n, 7n, 5n],
    [99n, 99n, 50n],
    [100n, 100n, 100n],
    [1_234_567n, 1_200_000n, 1_000_000n],
    [1_250_000n, 1_300_000n, 1_000_000n],
    [1_999_999n, 2_000_000n, 1_000_000n],
    [2_000_000n, 2_000_000n, 2_000_000n],
    [4_999_999n, 5_000_000n, 2_000_000n],
    [9_960n, 10_000n, 5_000n],
    [-1_234n, -1_200n, -2_000n],
    [-5_000n, -5_000n, -5_000n],
    [-6_000n, -6_000n, -10_000n],
  ];
  for (const [value, twoDigits, atLeast] of cases) {
    it(`should round ${value}`, () => {
      expect(rounded(value, "exact")).to.equal(value);
      expect(rounded(value, "two_digits")).to.equal(twoDigits);
      expect(rounded(value, "at_least")).to.equal(atLeast);
      expect(atLeast <= value, "never more than there is").to.equal(true);
    });
  }

  it("should say in words how it is rounded", () => {
    const text = (...given: Parameters<typeof shownFigures>) => shownFigures(...given).text;
    expect(text([12_345.67], "money", "EUR", "exact")).to.equal("€12,345.67");
    expect(text([12_345.67], "money", "EUR", "two_digits")).to.equal("about €12,000");
    expect(text([12_345.67], "money", "EUR", "at_least")).to.equal("at least €10,000");
    expect(text([0.07], "money", "EUR", "at_least")).to.equal("at least €0.05");
    expect(text([12_345], "money", "JPY", "two_digits")).to.equal("about ¥12,000");
    expect(text([1_234], "count", "EUR", "at_least")).to.equal("at least 1,000");
    expect(text([-3.46], "percent", "EUR", "two_digits")).to.equal("about -3.5%");
    expect(text([null], "percent", "EUR", "exact")).to.equal("not available");
  });

  it("should be an index of the first month above 0, the same at any size", () => {
    const small = [0, null, 20, 30.5, 0, 41];
    const { values, text } = shownFigures(small, "money", "EUR", "index");
    expect(values).to.deep.equal([null, null, 100, 153, 0, 205]);
    expect(text).to.equal("205 (first month: 100)");
    const large = small.map((value) => (value === null ? null : value * 1_000));
    expect(shownFigures(large, "money", "EUR", "index").values).to.deep.equal(values);
    expect(shownFigures([0, 0], "money", "EUR", "index").values).to.deep.equal([null, null]);
  });

  it("should be drawn whatever it is: one month, none, or below 0", () => {
    const draw = (...values: (number | null)[]) =>
      chartOf(
        "<MRR>",
        values.map((value) => ({ month: "2026-01", value })),
        String,
      );
    for (const values of [[], [null], [5], [0, 0], [-5, 10, null, 3]]) {
      const drawn = draw(...values);
      expect(drawn)
        .to.match(/^<svg /)
        .and.not.match(/NaN|Infinity|undefined/);
      expect(drawn).to.include("&lt;MRR&gt;");
      const there = values.filter((value) => value !== null);
      expect(drawn.match(/<circle/g)?.length ?? 0).to.equal(there.length);
    }
  });
});
