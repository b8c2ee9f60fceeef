/** Invoices paid by several payments: what each has of tax and lines, worked out by hand. */
import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { paymentVersions } from "../../../processors/book/payment/payment-versions.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import {
  linesOf,
  ordersOf,
  payment,
  purchase,
  received,
  refund,
} from "../../harness/fact-bodies.js";
import { rowsOf } from "../../model/tables/table.js";

/** 100.00 with 16.67 of tax: 50.00 and 33.33 net. */
const invoice = purchase({
  total: 10_000n,
  tax: 1_667n,
  lines: linesOf({ a: 5_000n, b: 3_333n }),
});

function paid(id: string, amount: bigint): FactBody {
  return payment({ payment: id, at: 1_000, amount });
}

function link(id: string, amount: bigint | null, day = 1, purchased = "in"): FactBody {
  const part = amount === null ? null : { amount, at: day * 1_000 };
  return { Link: { payment: id, purchase: purchased, part } };
}

function back(id: string, amount: bigint, failed_at: number | null = null): FactBody {
  return refund({ refund: id, payment: "p2", at: 5_000, amount, failed_at });
}

/** Tax of the document, and what each product has of amount and tax, as the tables write it. */
function shown(id: string, facts: readonly Fact[]): string {
  const { document, moves } = paymentState(id, facts);
  const entries = moves.flatMap(entriesOf).map(({ kind, external_id: sku, amount, tax }) => {
    return `${kind} ${sku || "-"} ${amount} (${tax})`;
  });
  return [`tax ${document?.tax_amount ?? "-"}`, ...entries].join(", ");
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

  for (const [id, row] of expected) {
    it(`should give ${id} of three its part, whatever comes first`, () => {
      const { amount, tax, a, b } = row;
      for (const order of ordersOf([invoice, paid(id, BigInt(amount ?? "")), ...thirds])) {
        const facts = received([...order, ...order]);
        const { document, moves } = paymentState(id, facts);
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
        purchase({
          purchase: "in2",
          total: 6_000n,
          tax: 1_000n,
          lines: linesOf({ c: 5_000n }),
        }),
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
        back("r1", 1_000n),
        back("r2", 2_333n),
        back("r3", 500n, 6_000),
      ],
      "tax 555, sale a 2000 (334), sale b 1333 (221), " +
        "refund a -601 (-101), refund b -399 (-66), refund a -1399 (-233), refund b -934 (-155), " +
        "refund a -301 (0), refund b -199 (0), refund a 301 (0), refund b 199 (0)",
    ],
  ];
  for (const [title, id, bodies, outcome] of cases) {
    it(`should give a payment ${title}`, () => {
      expect(shown(id, received(bodies))).to.equal(outcome);
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
