/** Which chargeback money that comes back belongs to, read from Paddle's own events. */
import { expect } from "chai";
import { entriesOf } from "../../processors/book/payment/entries.js";
import { paymentState } from "../../processors/book/payment/payment.js";
import { decode } from "../../providers/paddle/decode.js";
import { type JsonObject, paddleEvent, priceData, productData } from "../../ops/payloads/paddle.js";
import {
  type AdjustmentInput,
  adjustmentData,
  transactionData,
} from "../../ops/payloads/paddle-money.js";
import { minorToMajor } from "../../schemas/money/money.js";
import type { Fact } from "../../schemas/records/records.js";
import { factsOf } from "../harness/decoded.js";
import { ordersOf } from "../harness/fact-bodies.js";
import { cell, minorUnits, type Row, rowsOf } from "../model/tables/table.js";

/** A sale of 60.00 for a and 30.00 for b; what is left of each after each row, and the status. */
const cases: [string, string][] = [
  [
    "to the one of as much",
    `
    reported | amount | names | a     | b     | status
    taken    |  60.00 | a     |  0.00 | 30.00 | disputed
    taken    |  30.00 | b     |  0.00 |  0.00 | disputed
    returned |  30.00 | b     |  0.00 | 30.00 | disputed
    returned |  60.00 | a     | 60.00 | 30.00 | succeeded
    `,
  ],
  [
    "to the one from the same lines",
    `
    reported | amount | names | a     | b     | status
    taken    |  20.00 | a     | 40.00 | 30.00 | disputed
    taken    |  20.00 | b     | 40.00 | 10.00 | disputed
    returned |  20.00 | b     | 40.00 | 30.00 | disputed
    `,
  ],
  [
    "to one of two alike after the other",
    `
    reported | amount | names | a     | b     | status
    taken    |  20.00 | a     | 40.00 | 30.00 | disputed
    returned |  20.00 | a     | 60.00 | 30.00 | succeeded
    taken    |  20.00 | a     | 40.00 | 30.00 | disputed
    returned |  20.00 | a     | 60.00 | 30.00 | succeeded
    `,
  ],
  [
    "as much as came back, and no more",
    `
    reported | amount | names | a     | b     | status
    taken    |  90.00 |       |  0.00 |  0.00 | disputed
    returned |  30.00 |       | 20.00 | 10.00 | disputed
    returned |  60.00 |       | 60.00 | 30.00 | succeeded
    `,
  ],
  [
    "to several at once",
    `
    reported | amount | names | a     | b     | status
    taken    |  60.00 | a     |  0.00 | 30.00 | disputed
    taken    |  30.00 | b     |  0.00 |  0.00 | disputed
    returned |  90.00 |       | 60.00 | 30.00 | succeeded
    `,
  ],
  [
    "no more than was taken, nor before it was",
    `
    reported | amount | names | a     | b     | status
    returned |  30.00 | b     | 60.00 | 30.00 | succeeded
    taken    |  20.00 | b     | 60.00 | 10.00 | disputed
    returned |  30.00 | b     | 60.00 | 30.00 | succeeded
    `,
  ],
];

describe("Money that Paddle returns of a chargeback", () => {
  for (const [title, table] of cases) {
    it(`should go ${title}, whatever is reported first`, () => {
      const rows = rowsOf(table);
      const reported = [sale, ...rows.map(adjustment)].map(moneyFact);
      const expected = rows.map((row) => ["a", "b", "status"].map((name) => cell(row, name)));
      for (const order of ordersOf(reported)) {
        const facts = order.map((fact, receipt) => ({ ...fact, received_at: receipt }));
        const left = rows.map((_, place) => leftAt(facts, place));
        expect(left, order.map((fact) => fact.event_id).join()).to.deep.equal(expected);
      }
    });
  }
});

const second = 1000;
const start = Date.UTC(2026, 2, 10);
const currency = "EUR";
const customer = "ctm_1";
const sale = paddleEvent({
  id: "evt_sale",
  type: "transaction.completed",
  at: start,
  data: transactionData({
    id: "txn_1",
    customer,
    currency,
    createdAt: start,
    paidAt: start,
    lines: [line("a", 6000n), line("b", 3000n)],
  }),
});

function line(name: string, subtotal: bigint) {
  const price = priceData({ id: `pri_${name}`, product: name, unitAmount: subtotal, currency });
  const product = productData({ id: name, name, createdAt: start });
  return { id: `txnitm_${name}`, price, product, subtotal };
}

/** Each row a second after the one before. */
function adjustment(row: Row, place: number): JsonObject {
  const at = start + (place + 1) * second;
  const action = cell(row, "reported") === "taken" ? "chargeback" : "chargeback_reverse";
  const amount = minorUnits(cell(row, "amount"));
  const names = cell(row, "names");
  const reported: Pick<AdjustmentInput, "type" | "items" | "total"> =
    names === ""
      ? { type: "full", total: amount }
      : { type: "partial", items: [{ line: `txnitm_${names}`, amount }] };
  const id = `adj_${place}`;
  const what = { id, transaction: "txn_1", customer, currency, createdAt: at, action } as const;
  const data = adjustmentData({ ...what, ...reported, status: "approved" });
  return paddleEvent({ id: `evt_${place}`, type: "adjustment.created", at, data });
}

/** The one of money: others are names of products. */
function moneyFact(body: JsonObject, place: number): Fact {
  const [fact] = factsOf(decode(body), { event_id: `evt_${place}`, provider: "paddle" });
  if (fact === undefined) throw new Error("no money");
  return fact;
}

/**
 * What the products have left when the row of that place was reported, by all that was ever
 * reported.
 */
function leftAt(facts: readonly Fact[], place: number): string[] {
  const at = start + (place + 1) * second;
  const isReported = (fact: Fact): boolean => fact.happened_at <= at;
  const { document } = paymentState("txn_1", facts.filter(isReported));
  const entries = paymentState("txn_1", facts).moves.flatMap(entriesOf);
  const left = ["a", "b"].map((sku) =>
    entries
      .filter((entry) => entry.external_id === sku && entry.happened_at <= at)
      .reduce((sum, entry) => sum + entry.original_amount, 0n),
  );
  return [...left.map((amount) => minorToMajor(amount, 2)), document?.status ?? ""];
}
