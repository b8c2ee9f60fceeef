/** Invoices paid by several payments: what each has of tax and lines, worked out by hand. */
import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { paymentVersions } from "../../../processors/book/payment/payment-versions.js";
import type { Fact, FactBody, Quote } from "../../../schemas/records/records.js";
import { factOf } from "../../harness/facts.js";
import { rowsOf } from "../../model/tables/table.js";

const quote: Quote = {
  currency: "EUR",
  base_currency: "EUR",
  rate: "1",
  date: "2026-01-01",
  source: "same",
  edition: 1,
};

/** 100.00 with 16.67 of tax: 50.00 and 33.33 net. */
const invoice = purchase("in", 10_000n, 1_667n, [
  ["a", 5_000n],
  ["b", 3_333n],
]);

function purchase(
  id: string,
  total: bigint,
  tax: bigint | null,
  lines: readonly (readonly [string, bigint])[],
): FactBody {
  return {
    Purchase: {
      purchase: id,
      account: null,
      country: "DE",
      type: "subscription",
      tax,
      fee: null,
      lines: lines.map(([external_id, weight]) => ({ external_id, weight })),
      total,
    },
  };
}

function paid(payment: string, amount: bigint, currency = "EUR"): FactBody {
  const more = { account: null, country: null, type: null, tax: null, fee: null, lines: [] };
  return { Payment: { payment, at: 1_000, amount, currency, ...more } };
}

function link(payment: string, amount: bigint | null, day = 1, id = "in"): FactBody {
  const part = amount === null ? null : { amount, at: day * 1_000 };
  return { Link: { payment, purchase: id, part } };
}

function refund(payment: string, id: string, amount: bigint, failedAt: number | null): FactBody {
  const more = { account: null, country: null, lines: [] };
  const money = { amount, currency: "EUR", failed_at: failedAt };
  return { Refund: { refund: id, payment, at: 5_000, ...money, ...more } };
}

/** Received in that order. */
function received(bodies: readonly FactBody[]): Fact[] {
  return bodies.map((body, place) => {
    const ids = { fact_id: `f${place}`, event_id: `e${place}` };
    return factOf(body, { ...ids, received_at: place, happened_at: place, quote });
  });
}

/** Tax of the document, and what each product has of amount and tax, as the tables write it. */
function shown(payment: string, facts: readonly Fact[]): string {
  const { document, moves } = paymentState(payment, facts);
  const entries = moves.flatMap(entriesOf).map(({ kind, external_id: sku, amount, tax }) => {
    return `${kind} ${sku || "-"} ${amount} (${tax})`;
  });
  return [`tax ${document?.tax_amount ?? "-"}`, ...entries].join(", ");
}

/** Of a few things. */
function ordersOf<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, place) =>
    ordersOf(items.toSpliced(place, 1)).map((rest) => [item, ...rest]),
  );
}

describe("An invoice paid by several payments", () => {
  const thirds = [link("p1", 3_333n, 1), link("p2", 3_333n, 2), link("p3", 3_334n, 3)];
  const expected = new Map(
    rowsOf(`
      payment | amount | tax | a    | b     # the invoice: 1667, 6001 and 3999
      p1      |   3333 | 556 | 2000 | 1333
      p2      |   3333 | 555 | 2000 | 1333
      p3      |   3334 | 556 | 2001 | 1333
    `).map((row) => [row["payment"] ?? "", row]),
  );

  for (const [payment, row] of expected) {
    it(`should give ${payment} of three its part, whatever comes first`, () => {
      const { amount, tax, a, b } = row;
      for (const order of ordersOf([invoice, paid(payment, BigInt(amount ?? "")), ...thirds])) {
        const facts = received([...order, ...order]);
        const { document, moves } = paymentState(payment, facts);
        const [first, second] = moves.flatMap(entriesOf);
        expect([document?.tax_amount, first?.amount, second?.amount].map(String)).to.eql([
          tax,
          a,
          b,
        ]);
        expect((first?.tax ?? 0n) + (second?.tax ?? 0n)).to.equal(BigInt(tax ?? ""));
      }
    });
  }

  const cases: [string, string, FactBody[], string][] = [
    [
      "all of it while it is the only one",
      "p1",
      [invoice, paid("p1", 10_000n), link("p1", 10_000n)],
      "tax 1667, sale a 6001 (1001), sale b 3999 (666)",
    ],
    [
      "all of it where nobody says how much it paid",
      "p1",
      [invoice, paid("p1", 10_000n), link("p1", null), link("p2", 5_000n)],
      "tax 1667, sale a 6001 (1001), sale b 3999 (666)",
    ],
    [
      "its part where the rest was paid with a balance",
      "p1",
      [invoice, paid("p1", 4_000n), link("p1", 4_000n)],
      "tax 667, sale a 2401 (401), sale b 1599 (266)",
    ],
    [
      "the same place when another failed: its charge never comes",
      "p2",
      [invoice, link("p1", 5_000n, 1), link("p2", 5_000n, 2), paid("p2", 5_000n)],
      "tax 833, sale a 3000 (500), sale b 2000 (333)",
    ],
    [
      "no more tax than there is when the invoice is overpaid",
      "p2",
      [invoice, link("p1", 9_000n, 1), link("p2", 2_000n, 2), paid("p2", 2_000n)],
      "tax 167, sale a 1200 (101), sale b 800 (66)",
    ],
    [
      "what it bought of two invoices",
      "p1",
      [
        invoice,
        purchase("in2", 6_000n, 1_000n, [["c", 5_000n]]),
        link("p1", 10_000n),
        link("p1", 6_000n, 1, "in2"),
        paid("p1", 16_000n),
      ],
      "tax 2667, sale a 6001 (1001), sale b 3999 (666), sale c 6000 (1000)",
    ],
    [
      "back what it had when it is refunded",
      "p2",
      [
        ...thirds,
        invoice,
        paid("p2", 3_333n),
        refund("p2", "r1", 1_000n, null),
        refund("p2", "r2", 2_333n, null),
        refund("p2", "r3", 500n, 6_000),
      ],
      "tax 555, sale a 2000 (334), sale b 1333 (221), " +
        "refund a -601 (-101), refund b -399 (-66), refund a -1399 (-233), refund b -934 (-155), " +
        "refund a -301 (0), refund b -199 (0), refund a 301 (0), refund b 199 (0)",
    ],
  ];
  for (const [title, payment, bodies, outcome] of cases) {
    it(`should give a payment ${title}`, () => {
      expect(shown(payment, received(bodies))).to.equal(outcome);
    });
  }

  it("should move the cents of a payment when one that was made before it comes late", () => {
    const bodies = [invoice, link("p2", 3_333n, 2), paid("p2", 3_333n), link("p1", 3_333n, 1)];
    const { ledger, versions } = paymentVersions("p2", received(bodies));
    const tax = ledger.map((row) => [row.fact.fact_id, row.external_id, row.tax]);
    expect(tax).to.eql([
      ["f2", "a", 334n],
      ["f2", "b", 222n],
      ["f3", "b", -1n],
    ]);
    expect(versions.map(({ document }) => document.tax_amount)).to.eql([556n, 555n]);
  });

  it("should not look at how a payment shares what others pay of other purchases", () => {
    const bodies = [invoice, paid("p1", 3_333n), link("p2", 9_000n, 1, "other"), ...thirds];
    expect(shown("p1", received(bodies))).to.match(/^tax 556, sale a 2000/);
  });
});
