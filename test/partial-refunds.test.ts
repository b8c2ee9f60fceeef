/**
 * However a sale is given back, in however many parts and told in whichever way and order: never
 * more money or tax goes back than came in, and the part that completes it leaves nothing, in each
 * product where no part names its own.
 */
import { expect } from "chai";
import * as fc from "fast-check";
import { type Entry, entriesOf } from "../processors/entries.js";
import { paymentState } from "../processors/payment.js";
import { convertMinor } from "../schemas/money.js";
import type { Fact, FactBody } from "../schemas/records.js";
import { factOf } from "./facts.js";

/** Weights of what is given back one after the other; the tax told with each, of a hundred. */
const parts = fc.array(
  fc.record({
    weight: fc.bigInt({ min: 1n, max: 1_000n }),
    told: fc.constantFrom("single", "total"),
    taxPercent: fc.option(fc.bigInt({ min: 0n, max: 120n })),
    /** Of a refund told alone: the line it names. */
    line: fc.option(fc.nat(3), { freq: 3 }),
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
  order: fc.array(fc.nat(1_000), { minLength: 14, maxLength: 14 }),
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
        for (const at of new Set(entries.map(({ happened_at: moment }) => moment))) {
          const out = entries.filter(
            ({ kind, happened_at: moment }) => kind !== "sale" && moment <= at,
          );
          expectBetween(0n, -sum(out, "amount"), paid);
          expectBetween(0n, -sum(out, "tax"), tax);
          expect(sum(out, "fee")).to.equal(0n);
        }
        const isNamed = drawn.parts.some(({ told, line }) => told === "single" && line !== null);
        const skus = isNamed ? [] : new Set(entries.map(({ external_id: id }) => id));
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

  it("should be the same in whichever order it is told", () => {
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
  const bodies: FactBody[] = [
    {
      Payment: {
        payment: "p",
        at: 0,
        amount,
        currency,
        account: null,
        country: null,
        type: "one_time",
        tax,
        fee,
        lines: lines.map((weight, index) => ({ external_id: `sku-${index}`, weight })),
      },
    },
    ...refundsOf(drawn),
  ];
  return bodies.map((body, index) =>
    factOf(body, {
      fact_id: index.toString(),
      event_id: `e${index}`,
      received_at: index,
      base_currency: base,
      quote: {
        currency,
        base_currency: base,
        rate,
        date: "2026-01-01",
        source: "ecb",
        edition: 1,
      },
    }),
  );
}

/** The last of them completes the sale. */
function refundsOf({ amount, money: { currency }, parts: all, isDisputedLast }: Given): FactBody[] {
  const whole = all.reduce((running, { weight }) => running + weight, 0n);
  let weights = 0n;
  return all.flatMap(({ weight, told, taxPercent, line }, index): FactBody[] => {
    const before = (amount * weights) / whole;
    weights += weight;
    const after = (amount * weights) / whole;
    const part = after - before;
    const at = (index + 1) * 1_000;
    if (part === 0n) return [];
    if (isDisputedLast && weights === whole) {
      const times = { withdrawn_at: at, returned_at: null, told_by: "money" as const };
      return [{ Dispute: { dispute: "d", payment: "p", amount: part, currency, ...times } }];
    }
    // What is told alone is in every later total, too.
    const total = { payment: "p", at, amount: after, currency };
    if (told === "total") return [{ RefundTotal: total }];
    const tax = taxPercent === null ? null : (part * taxPercent) / 100n;
    const one = { refund: `r${index}`, payment: "p", at, amount: part, currency, tax };
    const lines = line === null ? [] : [{ external_id: `sku-${line}`, weight: part }];
    const unsaid = { failed_at: null, account: null, country: null };
    return [{ Refund: { ...one, ...unsaid, lines } }, { RefundTotal: { ...total, at: at + 1 } }];
  });
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
  expect(actual >= least && actual <= most, `${least} <= ${actual} <= ${most}`).to.equal(true);
}
