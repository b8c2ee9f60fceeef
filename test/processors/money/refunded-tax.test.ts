/** The tax in refunds, reported or not, worked out by hand. */
import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { payment, quoteOf, received, refund, refundTotal } from "../../harness/fact-bodies.js";
import { cell, rowsOf } from "../../model/tables/table.js";

/** A sale of 120.00 with 20.00 of tax, and what is reported after it, in the order of time. */
const cases: [string, string][] = [
  [
    "a refund of nothing but tax, and the rest of it",
    `
    reported | refund | tax reported | tax back
    r1       |  20.00 |        20.00 |    20.00
    r2       | 100.00 |         0.00 |     0.00
    `,
  ],
  [
    "a part with the tax it is reported with",
    `
    reported | refund | tax reported | tax back
    r1       |  50.00 |         5.00 |     5.00
    r2       |  10.00 |         1.67 |     1.67
    `,
  ],
  [
    "what is not reported as its part of what is left",
    `
    reported | refund | tax reported | tax back
    r1       |  30.00 |              |     5.00
    r2       |  30.00 |         0.00 |     0.00
    r3       |  40.00 |              |    10.00  # 15.00 of tax are in the 60.00 left
    r4       |  20.00 |              |     5.00
    `,
  ],
  [
    "all the tax with the last of the money",
    `
    reported | refund | tax reported | tax back
    r1       |  60.00 |         0.00 |     0.00
    r2       |  60.00 |         1.00 |    20.00
    `,
  ],
  [
    "no more than there was",
    `
    reported | refund | tax reported | tax back
    r1       |  60.00 |        25.00 |    20.00
    r2       |  10.00 |         5.00 |     0.00
    r1 fails |        |              |   -15.00  # the other's 5.00 stay
    `,
  ],
  [
    "what a failed refund took",
    `
    reported | refund | tax reported | tax back
    r1       |  30.00 |              |     5.00
    r2       |  30.00 |        10.00 |    10.00
    r1 fails |        |              |    -5.00
    r3       |  90.00 |              |    10.00
    r2 fails |        |              |   -10.00
    `,
  ],
  [
    "a refund that a reading reported in part before",
    `
    reported | refund | tax reported | tax back
    in all   |  10.00 |              |     1.67
    r1       |  40.00 |         8.00 |     6.00  # of 30.00 more
    in all   | 120.00 |              |    12.33
    `,
  ],
  [
    "a reading that takes back what was reported",
    `
    reported | refund | tax reported | tax back
    r1       |  60.00 |         4.00 |     4.00
    in all   |  90.00 |              |     8.00
    r1 fails |        |              |    -4.00
    `,
  ],
];

describe("The tax of a refund", () => {
  for (const [title, table] of cases) {
    it(`should be booked for ${title}`, () => {
      const rows = rowsOf(table);
      const facts = factsOf(sale, ...rows.map((row) => reported(row, rows)));
      const { moves } = paymentState("p", facts);
      const back = moves
        .filter(({ kind }) => kind === "refund")
        .map(({ tax }) => tax.to - tax.from);
      expect(back).to.eql(rows.map((row) => minor(cell(row, "tax back"))));
      const booked = moves.flatMap(entriesOf).filter(({ kind }) => kind === "refund");
      expect(booked.map(({ tax }) => -tax)).to.eql(back);
    });
  }

  it("should be what is reported while the sale is unknown or in another currency", () => {
    const alone = refund({ at: 1_000, amount: 5_000n, tax: 800n });
    expect(taxes(alone)).to.eql([-800n]);
    expect(taxes(payment({ ...paid, currency: "JPY" }), alone)).to.eql([2_000n, -800n]);
  });

  it("should be nothing where nobody reported the sale's", () => {
    const back = refund({ at: 1_000, amount: 5_000n, tax: 800n });
    expect(taxes(payment({ ...paid, tax: null }), back)).to.eql([0n, 0n]);
  });

  it("should never be more than the sale's when more than the sale is refunded", () => {
    const over = refund({ at: 1_000, amount: 13_000n, tax: null });
    expect(taxes(sale, over)).to.eql([2_000n, -2_000n]);
  });
});

function taxes(...bodies: readonly FactBody[]): bigint[] {
  return paymentState("p", factsOf(...bodies))
    .moves.flatMap(entriesOf)
    .map(({ tax }) => tax);
}

const paid = { amount: 12_000n, tax: 2_000n };
const sale = payment(paid);

/** Each row happens a second after the one before it. */
function reported(
  row: Readonly<Record<string, string>>,
  rows: readonly Readonly<Record<string, string>>[],
): FactBody {
  const place = rows.indexOf(row) + 1;
  const [id = "", what] = cell(row, "reported").split(" ");
  if (id === "in") return refundTotal({ at: place * 1_000, amount: minor(cell(row, "refund")) });
  const made = rows.findIndex((one) => cell(one, "reported") === id);
  const { refund: amount = "", "tax reported": tax = "" } = rows[made] ?? {};
  return refund({
    refund: id,
    at: (made + 1) * 1_000,
    amount: minor(amount),
    tax: tax === "" ? null : minor(tax),
    failed_at: what === "fails" ? place * 1_000 : null,
  });
}

function factsOf(...bodies: readonly FactBody[]): Fact[] {
  return received(bodies, (body) => {
    const currency = "Payment" in body ? body.Payment.currency : "EUR";
    return {
      provider: "paddle",
      quote: quoteOf({ currency, rate: currency === "JPY" ? "0.01" : "1" }),
    };
  });
}

function minor(text: string): bigint {
  return BigInt(text.replace(".", ""));
}
