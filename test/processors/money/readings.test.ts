/** One payment reported in pieces: an order and its invoice, refunds by approval, lone returns. */
import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import {
  linesOf,
  payment as paymentBody,
  purchase,
  received,
  refund as refundBody,
  refundTotal,
} from "../../harness/fact-bodies.js";

const currency = "EUR";

/** Received in this order, reported by the provider at this second. */
function facts(...reported: readonly [reportedAt: number, body: FactBody][]): Fact[] {
  return received(
    reported.map(([, body]) => body),
    (_body, place) => ({
      provider: "paddle",
      received_at: place * 1000,
      happened_at: (reported[place]?.[0] ?? 0) * 1000,
    }),
  );
}

function payment(at: number, lines: readonly [sku: string, weight: bigint, item: string][] = []) {
  const named = lines.map(([external_id, weight, item]) => ({ external_id, weight, item }));
  return paymentBody({ at: at * 1000, lines: named });
}

function refund(at: number, failedAt: number | null, item?: string): FactBody {
  const lines = item === undefined ? [] : [{ external_id: "", weight: 400n, item }];
  const failed_at = failedAt === null ? null : failedAt * 1000;
  return refundBody({ at: at * 1000, amount: 400n, failed_at, lines });
}

function total(at: number, amount: bigint, witness: string): FactBody {
  return refundTotal({ at: at * 1000, amount, witness });
}

function move(
  dispute: string,
  out: number | null,
  back: number | null,
  reported_by: "notice" | "money" = "notice",
  returned_amount: bigint | null = null,
): FactBody {
  const [withdrawn_at, returned_at] = [out, back].map((at) => (at === null ? null : at * 1000));
  const times = { withdrawn_at: withdrawn_at ?? null, returned_at: returned_at ?? null };
  const money = { amount: 1000n, currency };
  return { Dispute: { dispute, payment: "p", ...money, ...times, reported_by, returned_amount } };
}

function product(sku: string): FactBody {
  return purchase({ purchase: "s", lines: linesOf({ [sku]: 1n }) });
}

const linkAsOf = (at: number): FactBody => ({
  Link: { payment: "p", purchase: "s", as_of: at * 1000 },
});

/** `kind sku amount@second` of all that moved, and the status. */
function outcome(known: readonly Fact[]): string {
  const { document, moves } = paymentState("p", known);
  const moved = moves
    .flatMap(entriesOf)
    .filter(({ amount }) => amount !== 0n)
    .map((entry) => {
      const { kind, external_id: sku, amount, happened_at: at } = entry;
      return `${kind} ${sku || "-"} ${amount}@${at / 1000}`;
    })
    .sort();
  return [...moved, document?.status ?? "none"].join(", ");
}

describe("A payment reported in pieces", () => {
  const sale: [number, FactBody] = [1, payment(1)];
  const cases: [title: string, known: Fact[], expected: string][] = [
    [
      "a refund at the earliest of its dates",
      facts(sale, [5, refund(5, null)], [3, refund(3, null)], [9, refund(9, null)]),
      "refund - -400@3, sale - 1000@1, succeeded",
    ],
    [
      "a refund that was undone later",
      facts(sale, [8, refund(8, 8)], [3, refund(3, null)]),
      "refund - -400@3, refund - 400@8, sale - 1000@1, succeeded",
    ],
    [
      "no refund that was never approved",
      facts(sale, [8, refund(8, 8)]),
      "sale - 1000@1, succeeded",
    ],
    [
      "a refund on the line it names by its id",
      facts(
        [
          1,
          payment(1, [
            ["a", 600n, "i1"],
            ["b", 400n, "i2"],
          ]),
        ],
        [4, refund(4, null, "i2")],
      ),
      "refund b -400@4, sale a 600@1, sale b 400@1, succeeded",
    ],
    [
      "such a refund on no product while the sale is unknown",
      facts([4, refund(4, null, "i2")]),
      "refund - -400@4, none",
    ],
    [
      "the larger of two cumulative refunds",
      facts(sale, [3, total(3, 500n, "order")], [4, total(4, 300n, "invoice")]),
      "refund - -500@3, sale - 1000@1, succeeded",
    ],
    [
      "one refund that both of them report",
      facts(sale, [3, total(3, 1000n, "order")], [4, total(4, 1000n, "invoice")]),
      "refund - -1000@3, sale - 1000@1, refunded",
    ],
    [
      "the greatest of the totals reported in one second, whichever event has the greater id",
      facts(sale, [3, total(3, 300n, "")], [3, total(3, 100n, "")]),
      "refund - -300@3, sale - 1000@1, succeeded",
    ],
    [
      "it in two steps when the smaller has the lesser id",
      facts(sale, [3, total(3, 100n, "")], [3, total(3, 300n, "")]),
      "refund - -100@3, refund - -200@3, sale - 1000@1, succeeded",
    ],
    [
      "a total taken back in a later second",
      facts(sale, [3, total(3, 300n, "")], [4, total(4, 0n, "")]),
      "refund - -300@3, refund - 300@4, sale - 1000@1, succeeded",
    ],
    [
      "the return of a dispute that another event of the same second does not show yet",
      facts(sale, [6, move("x", 3, 6, "money")], [6, move("x", 3, null, "money")]),
      "dispute - -1000@3, dispute_won - 1000@6, sale - 1000@1, succeeded",
    ],
    [
      "no return that the money shows no longer a second later",
      facts(sale, [6, move("x", 3, 6, "money")], [7, move("x", 3, null, "money")]),
      "dispute - -1000@3, sale - 1000@1, disputed",
    ],
    [
      "what came back of a dispute lost in part, which stays one",
      facts(sale, [2, refund(2, null)], [6, move("x", 3, 6, "money", 400n)]),
      "dispute - -1000@3, dispute_won - 400@6, refund - -400@2, sale - 1000@1, disputed",
    ],
    [
      "no part any more when all of it came back later",
      facts(sale, [6, move("x", 3, 6, "money", 400n)], [8, move("x", 3, 8, "money", 1000n)]),
      "dispute - -1000@3, dispute_won - 1000@8, sale - 1000@1, succeeded",
    ],
    [
      "money back under an id of its own",
      facts(sale, [6, move("back", null, 6)], [3, move("out", 3, null)]),
      "dispute - -1000@3, dispute_won - 1000@6, sale - 1000@1, succeeded",
    ],
    [
      "the second of two chargebacks as open",
      facts(sale, [3, move("x", 3, null)], [6, move("y", null, 6)], [7, move("z", 7, null)]),
      "dispute - -1000@3, dispute - -1000@7, dispute_won - 1000@6, sale - 1000@1, disputed",
    ],
    [
      "no return before the first chargeback",
      facts(sale, [2, move("y", null, 2)], [3, move("x", 3, null)]),
      "dispute - -1000@3, sale - 1000@1, disputed",
    ],
    [
      "the product its subscription had when it was billed",
      facts([2, product("old")], [9, product("new")], [5, payment(5)], [5, linkAsOf(5)]),
      "sale old 1000@5, succeeded",
    ],
    [
      "the first product known of a subscription that was reported later",
      facts([9, product("new")], [7, product("old")], [5, payment(5)], [5, linkAsOf(5)]),
      "sale old 1000@5, succeeded",
    ],
    [
      "the time of the reading received first, the rest of the newest",
      facts([4, payment(2)], [9, payment(1, [["a", 1n, ""]])]),
      "sale a 1000@2, succeeded",
    ],
  ];
  for (const [title, known, expected] of cases) {
    it(`should book ${title}`, () => {
      expect(outcome(known)).to.equal(expected);
    });
  }
});
