/** What the lines of a sale give back of it, worked out by hand and as the model does. */
import { expect } from "chai";
import * as fc from "fast-check";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { SoldLines } from "../../../processors/book/payment/refund-allocation.js";
import type { FactBody } from "../../../schemas/records/records.js";
import { linesOf, payment, received, refund } from "../../harness/fact-bodies.js";
import { returnedBy } from "../../model/refund-allocation.js";
import { cell, rowsOf } from "../../model/tables/table.js";

/** A sale of 90.00 for a and 30.00 for b; what is left of each after each row. */
const cases: [string, string][] = [
  [
    "what names a line, then all that is left",
    `
    reported | amount | names | a    | b
    r1       |  90.00 | a     | 0.00 | 30.00
    r2       |  30.00 |       | 0.00 |  0.00
    `,
  ],
  [
    "its part of each line while each has as much left",
    `
    reported | amount | names | a     | b
    r1       |  15.00 | b     | 90.00 | 15.00
    r2       |  40.00 |       | 60.00 |  5.00
    r3       |  40.00 |       | 25.00 |  0.00  # 30.00 and 10.00, of which b has but 5.00
    `,
  ],
  [
    "more than a line brought in from the others",
    `
    reported | amount | names | a     | b
    r1       |  36.00 | b     | 84.00 | 0.00
    r2       |  84.00 | a     |  0.00 | 0.00
    `,
  ],
  [
    "what names a product that was not sold from those that were",
    `
    reported | amount | names | a     | b
    r1       |  40.00 | c     | 60.00 | 20.00
    r2       |  80.00 | c     |  0.00 |  0.00
    `,
  ],
  [
    "to a line what a failed refund took of it",
    `
    reported | amount | names | a     | b
    r1       |  40.00 |       | 60.00 | 20.00
    r2       |  60.00 | a     |  0.00 | 20.00
    r1 fails |        |       | 30.00 | 30.00
    r3       |  30.00 |       |  7.50 | 22.50
    r2 fails |        |       | 67.50 | 22.50
    r3 fails |        |       | 90.00 | 30.00
    `,
  ],
  [
    "what is beyond the sale as it is named",
    `
    reported | amount | names | a      | b
    r1       | 120.00 |       |   0.00 |  0.00
    r2       |  50.00 | a     | -50.00 |  0.00
    r1 fails |        |       |  40.00 | 30.00
    `,
  ],
];

describe("The lines of a sale", () => {
  for (const [title, table] of cases) {
    it(`should give back ${title}`, () => {
      const rows = rowsOf(table);
      const refunds = new Map<string, Parameters<typeof refund>[0]>();
      const bodies: FactBody[] = [sale];
      for (const [place, row] of rows.entries()) {
        const [id = "", fails] = cell(row, "reported").split(" ");
        const at = (place + 1) * 1_000;
        const named = cell(row, "names");
        const known = refunds.get(id);
        const given =
          fails === undefined || known === undefined
            ? {
                refund: id,
                at,
                amount: minor(cell(row, "amount")),
                lines: named === "" ? [] : linesOf({ [named]: 1n }),
              }
            : { ...known, failed_at: at };
        refunds.set(id, given);
        bodies.push(refund(given));
        expect(leftAfter(bodies), cell(row, "reported")).to.eql(
          ["a", "b"].map((sku) => minor(cell(row, sku))),
        );
      }
    });
  }

  it("should give back what the model says, whatever is named of them", () => {
    const amounts = fc.oneof(fc.bigInt({ min: 0n, max: 20n }), fc.bigInt({ min: 0n, max: 9_999n }));
    const given = fc.record({
      weights: fc.array(amounts, { minLength: 1, maxLength: 5 }),
      named: fc.dictionary(fc.constantFrom("0", "1", "2", "7"), amounts),
      sold: amounts,
      total: amounts,
    });
    fc.assert(
      fc.property(given, ({ weights: drawn, named, sold, total }) => {
        const lines = drawn.map((weight, place) => ({ external_id: `${place}`, weight }));
        const names = new Map(Object.entries(named));
        const skus = [...new Set([...lines.map((line) => line.external_id), ...names.keys()])];
        const parts = new Map([...names].map(([sku, part]) => [sku, same(part)]));
        const returned = new SoldLines(same(sold), lines).returned("tax", total, parts, skus);
        const model = returnedBy(
          sold,
          lines.map(({ external_id: sku, weight }) => ({ sku, weight })),
          total,
          names,
        );
        expect(returned).to.eql(skus.map((sku) => model.get(sku)));
      }),
      { numRuns: 2_000 },
    );
  });
});

function minor(text: string): bigint {
  return BigInt(text.replace(".", ""));
}

const same = (part: bigint) => ({ original: part, amount: part, tax: part });

/** The sum of the entries of a and b; no other product has any. */
function leftAfter(bodies: readonly FactBody[]): bigint[] {
  const left = new Map<string, bigint>();
  const { moves } = paymentState("p", received(bodies));
  for (const { external_id: sku, amount } of moves.flatMap(entriesOf)) {
    left.set(sku, (left.get(sku) ?? 0n) + amount);
  }
  expect([...left.keys()]).to.have.members(["a", "b"]);
  return ["a", "b"].map((sku) => left.get(sku) ?? 0n);
}

const sale = payment({ amount: 12_000n, lines: linesOf({ a: 3n, b: 1n }) });
