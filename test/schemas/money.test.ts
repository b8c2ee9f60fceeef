import { expect } from "chai";
import * as fc from "fast-check";
import {
  convertMinor,
  decimalText,
  divideRounded,
  divideSignificant,
  euroPredecessors,
  exponentOf,
  majorToMinor,
  minorToMajor,
  parseDecimal,
  splitByWeight,
  toJsonNumber,
  trimmedText,
} from "../../schemas/money/money.js";
import {
  type BillingPeriod,
  type Fraction,
  fraction,
  monthlyFraction,
  monthlyToMrr,
  parseFraction,
} from "../../schemas/money/monthly.js";

describe("Currencies", () => {
  const cases: [code: string, exponent: number | null][] = [
    ["USD", 2],
    ["JPY", 0],
    ["KWD", 3],
    ["CLF", 4],
    ["UYW", 4],
    ["MGA", 2],
    ["ISK", 0],
    ["ITL", 0],
    ["BGN", 2],
    ["XAU", null],
    ["BTC", null],
    ["usd", null],
    ["", null],
  ];
  for (const [code, exponent] of cases) {
    it(`should give ${JSON.stringify(code)} the exponent ${exponent}`, () => {
      expect(exponentOf(code)).to.equal(exponent);
    });
  }

  it("should know every currency the euro replaced", () => {
    expect([...euroPredecessors].filter((code) => exponentOf(code) === null)).to.deep.equal([]);
  });
});

describe("Decimals", () => {
  const cases: [text: string, plain: string | null][] = [
    ["0", "0"],
    ["12.50", "12.50"],
    ["-0.5", "-0.5"],
    ["+3", "3"],
    [".5", "0.5"],
    ["5.", "5"],
    ["1e3", "1000"],
    ["1.5E-2", "0.015"],
    ["1.5e+1", "15"],
    ["9007199254740993", "9007199254740993"],
    ["", null],
    [".", null],
    ["e5", null],
    ["1,5", null],
    [" 1", null],
    ["0x10", null],
    ["NaN", null],
    ["Infinity", null],
    ["1e308", null],
    ["1".repeat(65), null],
  ];
  for (const [text, plain] of cases) {
    it(`should read ${JSON.stringify(text).slice(0, 24)} as ${plain}`, () => {
      const decimal = parseDecimal(text);
      expect(decimal && decimalText(decimal)).to.equal(plain);
    });
  }

  it("should round halves away from zero whatever the signs", () => {
    const pairs: [bigint, bigint, bigint][] = [
      [5n, 2n, 3n],
      [-5n, 2n, -3n],
      [5n, -2n, -3n],
      [-5n, -2n, 3n],
      [7n, 5n, 1n],
      [-1n, 3n, 0n],
    ];
    expect(pairs.map(([n, d]) => divideRounded(n, d))).to.deep.equal(pairs.map(([, , q]) => q));
  });

  const quotients: [above: string, below: string, digits: number, text: string][] = [
    ["1", "3", 10, "0.3333333333"],
    ["2", "3", 4, "0.6667"],
    ["1", "8", 10, "0.125"],
    ["97338092087.75537", "1", 10, "97338092090"],
    ["999.96", "1", 4, "1000"],
    // Rounded twice (first to three digits, 1.25) this would be 1.3.
    ["1.2499", "1", 2, "1.2"],
    ["1.1172", "175.68", 10, "0.006359289617"],
  ];
  for (const [above, below, digits, text] of quotients) {
    it(`should divide ${above} by ${below} to ${digits} significant digits`, () => {
      const [one, other] = [parseDecimal(above), parseDecimal(below)];
      if (one === null || other === null) throw new Error("bad case");
      expect(trimmedText(divideSignificant(one, other, digits))).to.equal(text);
    });
  }
});

describe("Money", () => {
  const minor: [text: string, exponent: number, amountMinor: bigint | null][] = [
    ["19.99", 2, 1999n],
    ["19.990", 2, 1999n],
    ["1e3", 2, 100_000n],
    ["-0.01", 2, -1n],
    ["1200", 0, 1200n],
    ["1.250", 3, 1250n],
    ["19.999", 2, null],
    ["0.5", 0, null],
    ["abc", 2, null],
    ["90071992547409.91", 2, 9_007_199_254_740_991n],
  ];
  for (const [text, exponent, amountMinor] of minor) {
    it(`should read ${text} with exponent ${exponent} as ${amountMinor}`, () => {
      expect(majorToMinor(text, exponent)).to.equal(amountMinor);
    });
  }

  it("should give back the text of any amount", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.nat(4), (amount, exp) => {
        expect(majorToMinor(minorToMajor(amount, exp), exp)).to.equal(amount);
      }),
    );
  });

  it("should print amounts below 10^15 minor units exactly as JSON numbers", () => {
    const below = 10n ** 15n - 1n;
    fc.assert(
      fc.property(fc.bigInt({ min: -below, max: below }), fc.nat(4), (amount, exponent) => {
        const printed = JSON.stringify(toJsonNumber(amount, exponent));
        expect(majorToMinor(printed, exponent)).to.equal(amount);
      }),
    );
  });

  const conversions: [amount: bigint, from: string, rate: string, to: string, result: bigint][] = [
    [1000n, "EUR", "1.1172", "USD", 1117n],
    [1n, "USD", "0.5", "EUR", 1n],
    [-1n, "USD", "0.5", "EUR", -1n],
    [1200n, "JPY", "0.006359289617", "USD", 763n],
    [1250n, "KWD", "3.25", "USD", 406n],
    [1999n, "USD", "157.25", "JPY", 3143n],
    [9_007_199_254_740_991n, "USD", "1", "USD", 9_007_199_254_740_991n],
  ];
  for (const [amount, from, rate, to, result] of conversions) {
    it(`should convert ${amount} minor units of ${from} at ${rate} to ${result} of ${to}`, () => {
      expect(convertMinor(amount, rate, from, to)).to.equal(result);
    });
  }

  it("should refuse to convert a currency nobody knows", () => {
    expect(() => convertMinor(1n, "1", "XXX", "USD")).to.throw("No such currency");
  });
});

describe("Splitting by weight", () => {
  const cases: [what: string, total: bigint, weights: bigint[], shares: bigint[]][] = [
    ["weights that sum to the total", 80n, [100n, -20n], [100n, -20n]],
    ["a remainder to the largest", 100n, [1n, 2n, 4n], [14n, 28n, 58n]],
    ["a remainder to the first of equals", 100n, [1n, 1n, 1n], [34n, 33n, 33n]],
    ["a refund", -100n, [1n, 1n, 1n], [-34n, -33n, -33n]],
    ["a credited line", 40n, [100n, -20n], [50n, -10n]],
    ["weights that sum to nothing", 10n, [5n, -5n], [10n, 0n]],
    ["weights below nothing", 10n, [-3n, -2n], [0n, 10n]],
    ["no weights at all", 10n, [], [10n]],
    ["a single line", 7n, [3n], [7n]],
  ];
  for (const [what, total, weights, shares] of cases) {
    it(`should split over ${what}`, () => {
      expect(splitByWeight(total, weights)).to.deep.equal(shares);
    });
  }

  const amount = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });

  it("should always give the total back, one share a weight", () => {
    fc.assert(
      fc.property(amount, fc.array(amount, { minLength: 1, maxLength: 20 }), (total, weights) => {
        const shares = splitByWeight(total, weights);
        expect(shares).to.have.length(weights.length);
        expect(shares.reduce((sum, share) => sum + share, 0n)).to.equal(total);
      }),
    );
  });

  it("should be less than one unit from the exact share except for the largest", () => {
    const weight = fc.bigInt({ min: 1n, max: 10n ** 12n });
    fc.assert(
      fc.property(amount, fc.array(weight, { minLength: 1, maxLength: 20 }), (total, weights) => {
        const sum = weights.reduce((running, each) => running + each, 0n);
        const largest = weights.indexOf(weights.reduce((best, w) => (w > best ? w : best)));
        splitByWeight(total, weights).forEach((share, index) => {
          const off = share * sum - total * (weights[index] ?? 0n);
          if (index !== largest) expect((off < 0n ? -off : off) < sum).to.equal(true);
        });
      }),
    );
  });
});

function unit(text: string): Fraction {
  const value = parseFraction(text);
  if (value === null) throw new Error(`bad case ${text}`);
  return value;
}

describe("A month's worth", () => {
  type Interval = BillingPeriod["interval"];
  const cases: [what: string, amount: string, count: bigint, interval: Interval, mrr: string][] = [
    ["a monthly price", "1000", 1n, "month", "10.000000"],
    ["a yearly price", "1000", 1n, "year", "0.833333"],
    ["a quarterly price", "1000", 3n, "month", "3.333333"],
    ["a weekly price", "1000", 1n, "week", "43.333333"],
    ["a daily price", "1000", 1n, "day", "304.166667"],
    ["a price of 30 days", "1000", 30n, "day", "10.138889"],
    ["a discounted price", "1666.5", 1n, "month", "16.665000"],
    ["a part of a cent", "0.05", 1n, "month", "0.000500"],
  ];
  for (const [what, amount, intervalCount, interval, mrr] of cases) {
    it(`should be ${mrr} for ${what}`, () => {
      const monthly = monthlyFraction(unit(amount), { interval, intervalCount });
      expect(monthlyToMrr(monthly, "1", "USD")).to.equal(mrr);
    });
  }

  it("should round once, after the rate", () => {
    // 1/3 cent at 3: rounded before, it would be 0.009999.
    expect(monthlyToMrr(fraction(1n, 3n), "3", "USD")).to.equal("0.010000");
    expect(monthlyToMrr(fraction(1000n), "0.006359289617", "JPY")).to.equal("6.359290");
  });

  it("should keep equal amounts equal fields", () => {
    const yearly = monthlyFraction(unit("12000"), { interval: "year", intervalCount: 1n });
    const monthly = monthlyFraction(unit("1000"), { interval: "month", intervalCount: 1n });
    expect(yearly).to.deep.equal(monthly);
    expect(fraction(-4n, -6n)).to.deep.equal({ numerator: 2n, denominator: 3n });
    expect(fraction(0n, -6n)).to.deep.equal({ numerator: 0n, denominator: 1n });
  });

  it("should refuse a price per nothing", () => {
    expect(() => fraction(1n, 0n)).to.throw("A fraction of 0");
  });
});
