import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { type PaymentState, paymentState } from "../../../processors/book/payment/payment.js";
import { paymentVersions } from "../../../processors/book/payment/payment-versions.js";
import type { Fact, FactBody, Line } from "../../../schemas/records/records.js";
import { factOf } from "../../harness/facts.js";
import {
  linesOf,
  payment as paymentBody,
  purchase,
  quoteOf,
  refund as refundBody,
  refundTotal,
} from "../../harness/fact-bodies.js";

const quotes: Record<string, string> = { USD: "0.9", GBP: "1.2", EUR: "1" };

/** A fact received at second `receipt`, reported by the provider at second `reportedAt`. */
function fact(receipt: number, body: FactBody, reportedAt = receipt): Fact {
  const currency = currencyOf(body);
  const quote = currency === null ? null : quoteIn(currency);
  const times = { received_at: receipt * 1000, happened_at: reportedAt * 1000 };
  return factOf(body, { fact_id: `f${receipt}`, event_id: `e${receipt}`, ...times, quote });
}

const quoteIn = (currency: string) => quoteOf({ currency, rate: quotes[currency] ?? "1" });

function currencyOf(body: FactBody): string | null {
  if ("Payment" in body) return body.Payment.currency;
  if ("Refund" in body) return body.Refund.currency;
  if ("RefundTotal" in body) return body.RefundTotal.currency;
  if ("Dispute" in body) return body.Dispute.currency;
  return null;
}

const payment = (amount: bigint, weights: Record<string, bigint> = {}, currency = "USD") =>
  paymentBody({ payment: "pi", at: 1000, amount, currency, lines: linesOf(weights) });
const invoice = (weights: Record<string, bigint>) => purchase({ lines: linesOf(weights) });
const purchaseOfTwo = {
  type: null,
  lines: [
    { external_id: "a", item: "line-a", weight: 600n },
    { external_id: "b", item: "line-b", weight: 300n },
  ],
};
const link: FactBody = { Link: { payment: "pi", purchase: "in" } };
const refund = (
  id: string,
  amount: bigint,
  at: number,
  failedAt: number | null = null,
  currency = "USD",
) => {
  const failed_at = failedAt === null ? null : failedAt * 1000;
  return refundBody({ refund: id, payment: "pi", at: at * 1000, amount, currency, failed_at });
};
const total = (amount: bigint, at: number) =>
  refundTotal({ payment: "pi", at: at * 1000, amount, currency: "USD" });
/** A line of the payment, as refunds and disputes name it. */
const lineB: Line = { external_id: "", item: "line-b", weight: 300n };
const dispute = (
  amount: bigint,
  withdrawn: number | null,
  returned: number | null,
  reported_by: "money" | "notice" | "outcome" = "notice",
  named: { readonly lines?: Line[]; readonly tax?: bigint } = {},
): FactBody => ({
  Dispute: {
    dispute: "dp",
    payment: "pi",
    amount,
    currency: "USD",
    withdrawn_at: withdrawn === null ? null : withdrawn * 1000,
    returned_at: returned === null ? null : returned * 1000,
    reported_by,
    ...named,
  },
});

/** `kind sku amount@second`, in time order. */
function reported({ moves }: PaymentState): string[] {
  return moves
    .flatMap(entriesOf)
    .filter(({ amount }) => amount !== 0n)
    .map(
      ({ kind, external_id, amount, happened_at }) =>
        `${kind} ${external_id || "-"} ${amount}@${happened_at / 1000}`,
    )
    .sort((one, other) => Number(one.split("@")[1]) - Number(other.split("@")[1]));
}

describe("A payment as a function of what is known", () => {
  const cases: [string, Fact[], string[], string | null, bigint | null][] = [
    ["a sale", [fact(1, payment(1000n))], ["sale - 900@1"], "succeeded", 0n],
    ["nothing for a payment of nothing", [fact(1, payment(0n))], [], null, null],
    [
      "a sale split by its invoice, the remainder to the largest line",
      [fact(1, payment(1000n)), fact(2, invoice({ a: 1n, b: 2n })), fact(3, link)],
      ["sale a 300@1", "sale b 600@1"],
      "succeeded",
      0n,
    ],
    [
      "a credited line as negative revenue of its product",
      [fact(1, payment(1000n, { old: -500n, new: 1500n }))],
      ["sale old -450@1", "sale new 1350@1"],
      "succeeded",
      0n,
    ],
    [
      "a full refund to the cent, in three parts",
      [
        fact(1, payment(999n)),
        fact(2, refund("r1", 333n, 5)),
        fact(3, refund("r2", 333n, 6)),
        fact(4, refund("r3", 333n, 7)),
      ],
      ["sale - 899@1", "refund - -300@5", "refund - -299@6", "refund - -300@7"],
      "refunded",
      999n,
    ],
    [
      "a partial refund as still succeeded",
      [fact(1, payment(1000n)), fact(2, refund("r1", 400n, 5))],
      ["sale - 900@1", "refund - -360@5"],
      "succeeded",
      400n,
    ],
    [
      "one refund reported by its object and by the charge's total once",
      [fact(1, payment(1000n)), fact(2, refund("r1", 400n, 5)), fact(3, total(400n, 6))],
      ["sale - 900@1", "refund - -360@5"],
      "succeeded",
      400n,
    ],
    [
      "refunds reported by totals alone",
      [fact(1, payment(1000n)), fact(2, total(400n, 5)), fact(3, total(1000n, 6))],
      ["sale - 900@1", "refund - -360@5", "refund - -540@6"],
      "refunded",
      1000n,
    ],
    [
      "a failed refund as money that came back when it failed",
      [fact(1, payment(1000n)), fact(2, refund("r1", 1000n, 5, 9)), fact(3, total(1000n, 6))],
      ["sale - 900@1", "refund - -900@5", "refund - 900@9"],
      "succeeded",
      0n,
    ],
    [
      "a refund before its sale at its own rate and without a transaction",
      [fact(1, refund("r1", 1000n, 5))],
      ["refund - -900@5"],
      null,
      null,
    ],
    [
      "a refund before its sale by the product its invoice names",
      [fact(1, invoice({ a: 1n })), fact(2, link), fact(3, refund("r1", 1000n, 5))],
      ["refund a -900@5"],
      null,
      null,
    ],
    [
      "a sale as unattributed while only its invoice is known and no link",
      [fact(1, payment(1000n)), fact(2, invoice({ a: 1n }))],
      ["sale - 900@1"],
      "succeeded",
      0n,
    ],
    [
      "a lost dispute",
      [fact(1, payment(1000n)), fact(2, dispute(1000n, 5, null))],
      ["sale - 900@1", "dispute - -900@5"],
      "disputed",
      0n,
    ],
    [
      "a won dispute",
      [fact(1, payment(1000n)), fact(2, dispute(1000n, 5, null)), fact(3, dispute(1000n, null, 9))],
      ["sale - 900@1", "dispute - -900@5", "dispute_won - 900@9"],
      "succeeded",
      0n,
    ],
    [
      "a dispute from the line it names, and back to it",
      [
        fact(1, payment(1000n)),
        fact(2, purchase(purchaseOfTwo)),
        fact(3, link),
        fact(4, dispute(300n, 5, 9, "notice", { lines: [lineB] })),
      ],
      ["sale a 600@1", "sale b 300@1", "dispute b -270@5", "dispute_won b 270@9"],
      "succeeded",
      0n,
    ],
    [
      "a dispute from the line it names before it is known of which sale",
      [
        fact(1, dispute(300n, 5, null, "notice", { lines: [{ ...lineB, external_id: "b" }] })),
        fact(2, purchase(purchaseOfTwo)),
        fact(3, link),
      ],
      ["dispute b -270@5"],
      null,
      null,
    ],
    [
      "the time of the money before the time of a notice",
      [
        fact(1, payment(1000n)),
        fact(2, dispute(1000n, 7, null)),
        fact(3, dispute(1000n, 5, null, "money")),
      ],
      ["sale - 900@1", "dispute - -900@5"],
      "disputed",
      0n,
    ],
    [
      "nothing for an inquiry",
      [fact(1, payment(1000n)), fact(2, dispute(1000n, null, null))],
      ["sale - 900@1"],
      "succeeded",
      0n,
    ],
  ];
  for (const [title, facts, entries, status, refunded] of cases) {
    it(`should book ${title}`, () => {
      const state = paymentState("pi", facts);
      expect(reported(state)).to.have.members(entries);
      expect(reported(state)).to.have.length(entries.length);
      expect(state.document?.status ?? null).to.equal(status);
      expect(state.document?.refunded_amount ?? null).to.equal(refunded);
    });
  }

  it("should come to the same whatever the order of receipt", () => {
    const bodies = [
      payment(1000n),
      invoice({ a: 700n, b: 300n }),
      refund("r1", 400n, 5),
      dispute(600n, 8, null),
      link,
    ];
    const outcome = (order: number[]) =>
      reported(
        paymentState(
          "pi",
          order.map((index, receipt) => fact(receipt + 1, bodies[index] ?? payment(0n), index + 1)),
        ),
      );
    expect(outcome([4, 3, 2, 1, 0])).to.have.members(outcome([0, 1, 2, 3, 4]));
    expect(outcome([2, 0, 4, 3, 1])).to.have.members(outcome([0, 1, 2, 3, 4]));
  });

  for (const [title, first, rates] of [
    ["its return", dispute(1000n, null, 9), ["0.8", "0.9"]],
    ["an outcome that dates it later", dispute(1000n, 9, null, "outcome"), ["0.8", "0.9"]],
    ["itself", dispute(1000n, 5, null), ["0.9", "0.8"]],
  ] as const) {
    it(`should convert a lone dispute by its withdrawal's day when ${title} came first`, () => {
      const facts = [fact(1, first), fact(2, dispute(1000n, 5, 9))].map((each, place) => ({
        ...each,
        quote: quoteOf({ currency: "USD", rate: rates[place] ?? "" }),
      }));
      const expected = ["dispute - -900@5", "dispute_won - 900@9"];
      expect(reported(paymentState("pi", facts))).to.have.members(expected);
    });
  }

  it("should convert a sale that comes again in another currency by its first rate there", () => {
    const facts = [fact(1, payment(1000n)), fact(2, payment(1000n, {}, "GBP"))];
    const { document } = paymentState("pi", facts);
    expect(document).to.include({ original_currency: "GBP", fx_rate: "1.2" });
    expect(document).to.include({ normalized_amount: 1200n, timestamp: 1000 });
    expect(
      reported(paymentState("pi", [...facts, fact(3, refund("r1", 500n, 5))])),
    ).to.have.members(["sale - 1200@1", "refund - -450@5"]);
  });

  const inEuro = (id: string, amount: bigint, failedAt: number | null = null) =>
    refund(id, amount, 5, failedAt, "EUR");
  const inOthers: [string, FactBody[], [bigint, string]][] = [
    ["a part", [inEuro("r1", 450n)], [500n, "succeeded"]],
    ["a cent less than it is worth", [inEuro("r1", 899n)], [998n, "succeeded"]],
    ["all that it is worth", [inEuro("r1", 900n)], [1000n, "refunded"]],
    ["more, which is the rates' doing", [inEuro("r1", 930n)], [1000n, "refunded"]],
    [
      "what a refund in its own currency left",
      [refund("r1", 333n, 5), inEuro("r2", 600n)],
      [1000n, "refunded"],
    ],
    ["nothing, where it failed", [inEuro("r1", 900n, 9)], [0n, "succeeded"]],
  ];
  for (const [title, refunds, [refunded, status]] of inOthers) {
    it(`should read a refund in another currency as ${title}`, () => {
      const facts = [payment(1000n), ...refunds].map((body, index) => fact(index + 1, body));
      const { document } = paymentState("pi", facts);
      expect(document).to.include({ refunded_amount: refunded, status });
    });
  }

  it("should not count a total again that is also reported in another currency", () => {
    const euros = refundTotal({ payment: "pi", at: 5000, amount: 900n, currency: "EUR" });
    for (const [first, second] of [
      [euros, total(1000n, 6)],
      [total(1000n, 6), euros],
    ] as const) {
      const facts = [fact(1, payment(1000n)), fact(2, first), fact(3, second)];
      const { document, moves } = paymentState("pi", facts);
      expect(document).to.include({ refunded_amount: 1000n, status: "refunded" });
      const entries = moves.flatMap(entriesOf);
      expect(entries.reduce((sum, { amount }) => sum + amount, 0n)).to.equal(0n);
    }
    // Nothing else reports it.
    const { document } = paymentState("pi", [fact(1, payment(1000n)), fact(2, euros)]);
    expect(document).to.include({ refunded_amount: 1000n, status: "refunded" });
  });

  it("should give back the sale's tax with its money, to the cent", () => {
    const taxed = purchase({ ...purchaseOfTwo, tax: 160n });
    const facts = [fact(1, payment(1000n)), fact(2, taxed), fact(3, link)];
    const taxes = (more: Fact[]) =>
      paymentState("pi", [...facts, ...more])
        .moves.flatMap(entriesOf)
        .map(({ entry, external_id, tax }) => `${entry} ${external_id} ${tax}`);
    const sale = ["sale a 96", "sale b 48"];
    expect(taxes([])).to.have.members(sale);
    const refunds = [fact(4, refund("r1", 333n, 5)), fact(5, refund("r2", 667n, 6))];
    const returned = taxes(refunds).filter((text) => !text.startsWith("sale"));
    expect(returned).to.have.lengthOf(4);
    for (const [sku, whole] of [
      ["a", -96],
      ["b", -48],
    ] as const) {
      const parts = returned.filter((text) => text.includes(` ${sku} `));
      expect(parts.reduce((sum, text) => sum + Number(text.split(" ").at(-1)), 0)).to.equal(whole);
    }
    const disputed = taxes([fact(4, dispute(1000n, 8, 9))]);
    expect(disputed).to.have.members([
      ...sale,
      "dispute:dp a -96",
      "dispute:dp b -48",
      "dispute_won:dp a 96",
      "dispute_won:dp b 48",
    ]);
    const named = taxes([fact(4, dispute(300n, 8, 9, "notice", { lines: [lineB], tax: 50n }))]);
    expect(named).to.have.members([...sale, "dispute:dp b -45", "dispute_won:dp b 45"]);
  });
});

describe("What is recorded of a payment", () => {
  it("should move the sale to its product by a difference when the link comes last", () => {
    const { ledger, versions } = paymentVersions("pi", [
      fact(1, payment(1000n)),
      fact(2, invoice({ a: 1n })),
      fact(3, link),
    ]);
    const rows = ledger.map((row) => [row.fact.fact_id, row.external_id, row.amount, row.sales]);
    expect(rows).to.have.deep.members([
      ["f1", "", 900n, 1],
      ["f3", "", -900n, -1],
      ["f3", "a", 900n, 1],
    ]);
    expect(versions.map(({ version, changed }) => [version, changed])).to.deep.equal([
      [1, true],
      [2, false],
      [3, true],
    ]);
  });

  it("should make no new version of what says nothing new", () => {
    const { versions, ledger } = paymentVersions("pi", [
      fact(1, payment(1000n)),
      fact(2, payment(1000n)),
    ]);
    expect(versions.map(({ changed }) => changed)).to.deep.equal([true, false]);
    expect(ledger).to.have.length(1);
  });
});
