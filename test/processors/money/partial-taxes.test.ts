/** Tax that is reported in total only, however its lines and payments share it: nothing is lost. */
import { expect } from "chai";
import * as fc from "fast-check";
import { type Entry, entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { convertMinor } from "../../../schemas/money/money.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { payment, purchase, quoteOf, received, refund } from "../../harness/fact-bodies.js";

const given = fc.record({
  total: fc.oneof(fc.bigInt({ min: 1n, max: 50n }), fc.bigInt({ min: 1n, max: 10n ** 12n })),
  taxPercent: fc.bigInt({ min: 0n, max: 100n }),
  weights: fc.array(fc.bigInt({ min: 0n, max: 999n }), { minLength: 1, maxLength: 6 }),
  /** How much of the invoice each payment pays, by weight. */
  payments: fc.array(fc.bigInt({ min: 1n, max: 9n }), { minLength: 1, maxLength: 4 }),
  money: fc.constantFrom(
    { currency: "JPY", base: "JPY", rate: "1" },
    { currency: "EUR", base: "EUR", rate: "1" },
    { currency: "KWD", base: "KWD", rate: "1" },
    { currency: "EUR", base: "JPY", rate: "163.7" },
    { currency: "JPY", base: "KWD", rate: "0.002067" },
    { currency: "KWD", base: "USD", rate: "3.2573" },
  ),
  /** Of each payment, what goes back first, in percent. */
  firstPercent: fc.bigInt({ min: 0n, max: 100n }),
});
type Given = typeof given extends fc.Arbitrary<infer T> ? T : never;

describe("The tax of an invoice of several lines", () => {
  it("should add up over lines and payments, and go back to nothing", () => {
    fc.assert(
      fc.property(given, (drawn) => {
        const { currency, base, rate } = drawn.money;
        const parts = partsOf(drawn);
        const tax = (drawn.total * drawn.taxPercent) / 100n;
        let reported = 0n;
        for (const [place] of parts.entries()) {
          const { document, moves } = paymentState(`p${place}`, factsOf(drawn, parts, tax, place));
          const own = document?.tax_amount ?? 0n;
          reported += own;
          const entries = moves.flatMap(entriesOf);
          const sale = entries.filter(({ kind }) => kind === "sale");
          expect(taxIn(sale)).to.equal(convertMinor(own, rate, currency, base));
          for (const sku of new Set(entries.map(({ external_id: id }) => id))) {
            expect(taxIn(entries.filter(({ external_id: id }) => id === sku))).to.equal(0n);
          }
        }
        expect(reported).to.equal(tax);
      }),
      { numRuns: 200 },
    );
  });
});

function taxIn(entries: readonly Entry[]): bigint {
  return entries.reduce((sum, { tax }) => sum + tax, 0n);
}

/** Of the invoice; what comes to nothing is no payment. */
function partsOf({ total, payments }: Given): bigint[] {
  const whole = payments.reduce((sum, weight) => sum + weight, 0n);
  let [weights, paid] = [0n, 0n];
  return payments
    .map((weight) => {
      weights += weight;
      const part = (total * weights) / whole - paid;
      paid += part;
      return part;
    })
    .filter((part) => part > 0n);
}

/** The invoice, all its links, and one of its payments, which goes back in two refunds. */
function factsOf(drawn: Given, parts: readonly bigint[], tax: bigint, place: number): Fact[] {
  const { money, total, weights } = drawn;
  const { currency, base, rate } = money;
  const lines = weights.map((weight, line) => ({ external_id: `sku-${line}`, weight }));
  const amount = parts[place] ?? 0n;
  const first = (amount * drawn.firstPercent) / 100n;
  const own = { payment: `p${place}`, currency };
  const refundAt = (at: number, back: bigint): FactBody[] =>
    back === 0n ? [] : [refund({ ...own, refund: `r${at}`, at, amount: back })];
  const bodies: FactBody[] = [
    purchase({ type: "one_time", tax, lines, total }),
    ...parts.map((part, index) => ({
      Link: { payment: `p${index}`, purchase: "in", part: { amount: part, at: index } },
    })),
    payment({ ...own, at: place, amount }),
    ...refundAt(1_000, first),
    ...refundAt(2_000, amount - first),
  ];
  const quote = quoteOf({ currency, base_currency: base, rate });
  return received(bodies, () => ({ base_currency: base, quote }));
}
