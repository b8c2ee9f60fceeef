/**
 * However a sale is given back, in however many parts and reported in whichever way and order,
 * whatever products the parts name and whichever of them fail: never more money or tax goes back
 * than came in, and the part that completes it leaves nothing, in each product.
 */
import { expect } from "chai";
import * as fc from "fast-check";
import { type Entry, entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { convertMinor } from "../../../schemas/money/money.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { payment, quoteOf, received, refund, refundTotal } from "../../harness/fact-bodies.js";

/** Weights of what is given back one after the other; the tax reported with each, of a hundred. */
const parts = fc.array(
  fc.record({
    weight: fc.bigInt({ min: 1n, max: 1_000n }),
    reported: fc.constantFrom("single", "total"),
    taxPercent: fc.option(fc.bigInt({ min: 0n, max: 120n })),
    /** Of a refund reported alone: the line it names, which may be none of the sale's. */
    line: fc.option(fc.nat(4), { freq: 3 }),
    /** Of one reported alone. */
    hasFailed: fc.nat(4).map((drawn) => drawn === 0),
  }),
  { minLength: 1, maxLength: 12 },
);
const given = fc.record({
  amount: fc.oneof(fc.bigInt({ min: 1n, max: 30n }), fc.bigInt({ min: 1n, max: 10n ** 13n })),
  taxPercent: fc.bigInt({ min: 0n, max: 100n }),
  fee: fc.bigInt({ min: 0n, max: 1_000n }),
  money: fc.constantFrom(
    { currency: "EUR", base: "EUR", rate: "1" },
    { currency: "EUR", base: "JPY", rate: "163.7" },
    { currency: "JPY", base: "USD", rate: "0.006702413" },
    { currency: "KWD", base: "GBP", rate: "2.421730077" },
    { currency: "USD", base: "EUR", rate: "0.8802258023" },
  ),
  lines: fc.array(fc.bigInt({ min: 0n, max: 1_000n }), { maxLength: 4 }),
  parts,
  isDisputedLast: fc.boolean(),
  order: fc.array(fc.nat(1_000), { minLength: 27, maxLength: 27 }),
});
type Given = typeof given extends fc.Arbitrary<infer T> ? T : never;

describe("A sale that is given back in parts", () => {
  it("should never give back more than it brought, and end with nothing left", () => {
    fc.assert(
      fc.property(given, (drawn) => {
        const facts = factsOf(drawn);
        const entries = ledgerOf(facts);
        const sale = entries.filter(({ kind }) => kind === "sale");
        const [paid, tax] = [sum(sale, "amount"), sum(sale, "tax")];
        const skus = new Set(entries.map(({ external_id: id }) => id));
        for (const at of new Set(entries.map(({ happened_at: moment }) => moment))) {
          const until = entries.filter(({ happened_at: moment }) => moment <= at);
          const out = until.filter(({ kind }) => kind !== "sale");
          expectBetween(0n, -sum(out, "amount"), paid);
          expectBetween(0n, -sum(out, "tax"), tax);
          expect(sum(out, "fee")).to.equal(0n);
          for (const sku of skus) {
            const left = ofSku(until, sku);
            for (const measure of ["original_amount", "amount", "tax"] as const) {
              expectBetween(0n, sum(left, measure), sum(ofSku(sale, sku), measure));
            }
          }
        }
        for (const part of [entries, ...Array.from(skus, (sku) => ofSku(entries, sku))]) {
          expect(sum(part, "original_amount")).to.equal(0n);
          expect(sum(part, "amount")).to.equal(0n);
          expect(sum(part, "tax")).to.equal(0n);
        }
        expect(sum(entries, "fee")).to.equal(inBase(drawn, drawn.fee));
      }),
      { numRuns: 400 },
    );
  });

  it("should be the same in whichever order it is reported", () => {
    fc.assert(
      fc.property(given, (drawn) => {
        const facts = factsOf(drawn);
        const place = ({ fact_id: id }: Fact) => drawn.order[Number(id)] ?? 0;
        const shuffled = [...facts].sort((one, other) => place(one) - place(other));
        expect(ledgerOf(shuffled)).to.deep.equal(ledgerOf(facts));
      }),
    );
  });
});

function ledgerOf(facts: readonly Fact[]): Entry[] {
  return paymentState("p", facts).moves.flatMap(entriesOf);
}

function factsOf(drawn: Given): Fact[] {
  const { amount, money, fee, lines } = drawn;
  const { currency, base, rate } = money;
  const tax = (amount * drawn.taxPercent) / 100n;
  const sold = lines.map((weight, index) => ({ external_id: `sku-${index}`, weight }));
  const sale = payment({ amount, currency, type: "one_time", tax, fee, lines: sold });
  const quote = quoteOf({ currency, base_currency: base, rate });
  return received([sale, ...refundsOf(drawn)], (_body, place) => ({
    fact_id: place.toString(),
    happened_at: 0,
    base_currency: base,
    quote,
  }));
}

/** The last of them completes the sale. */
function refundsOf({ amount, money: { currency }, parts: all, isDisputedLast }: Given): FactBody[] {
  const whole = all.reduce((running, { weight }) => running + weight, 0n);
  let out = 0n;
  const refunds = all.flatMap(
    ({ weight, reported, taxPercent, line, hasFailed }, index): FactBody[] => {
      const part = (amount * weight) / whole;
      const at = (index + 1) * 1_000;
      const isLast = index === all.length - 1;
      if (part === 0n || isLast) return [];
      const before = out;
      out += part;
      if (reported === "total") return [refundTotal({ at, amount: out, currency })];
      if (hasFailed) out = before;
      const tax = taxPercent === null ? null : (part * taxPercent) / 100n;
      const lines = line === null ? [] : [{ external_id: `sku-${line}`, weight: part }];
      const failed_at = hasFailed ? at + 1 : null;
      // What is reported alone is in every later total, too.
      return [
        refund({ refund: `r${index}`, at, amount: part, currency, tax, lines, failed_at }),
        refundTotal({ at: at + 2, amount: out, currency }),
      ];
    },
  );
  const [at, rest] = [all.length * 1_000, amount - out];
  const times = { withdrawn_at: at, returned_at: null, reported_by: "money" as const };
  const dispute = { dispute: "d", payment: "p", amount: rest, currency, ...times };
  if (isDisputedLast) return [...refunds, { Dispute: dispute }];
  const named = all.at(-1)?.line ?? null;
  const lines = named === null ? [] : [{ external_id: `sku-${named}`, weight: rest }];
  return [
    ...refunds,
    refund({ refund: "last", at, amount: rest, currency, lines }),
    refundTotal({ at: at + 1, amount, currency }),
  ];
}

function ofSku(entries: readonly Entry[], sku: string): Entry[] {
  return entries.filter(({ external_id: id }) => id === sku);
}

function inBase({ money: { currency, base, rate } }: Given, amount: bigint): bigint {
  return convertMinor(amount, rate, currency, base);
}

type Sums = "original_amount" | "amount" | "tax" | "fee";

function sum(entries: readonly Entry[], of: Sums): bigint {
  return entries.reduce((running, entry) => running + entry[of], 0n);
}

function expectBetween(least: bigint, actual: bigint, most: bigint): void {
  if (actual < least || actual > most) expect.fail(`${least} <= ${actual} <= ${most}`);
}
