/** One invoice paid outside Stripe by several payment records: all of them count, each once. */
import { expect } from "chai";
import { anyTime } from "../../../providers/backfill.js";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { paymentVersions } from "../../../processors/book/payment/payment-versions.js";
import { stripeBackfill } from "../../../providers/stripe/history/backfill.js";
import { decode } from "../../../providers/stripe/decode.js";
import { type JsonObject, stripeEvent } from "../../../ops/payloads/stripe.js";
import {
  chargeObject,
  invoiceObject,
  invoicePaymentObject,
} from "../../../ops/payloads/stripe-money.js";
import type { Fact } from "../../../schemas/records/records.js";
import { factOf } from "../../harness/facts.js";
import { ordersOf, quoteOf } from "../../harness/fact-bodies.js";

const currency = "eur";
const day = 24 * 60 * 60 * 1000;
const paidAt = Date.UTC(2026, 2, 1);
const quote = quoteOf();

/** An invoice of 100.00 with 20.00 of tax, as `invoice.paid` shows it. */
function invoice(more: JsonObject = {}): JsonObject {
  const object = invoiceObject({
    id: "in_1",
    customer: "cus_1",
    currency,
    createdAt: paidAt,
    paidAt: paidAt + 2 * day,
    tax: 2000n,
    lines: [{ id: "il_1", product: "prod_1", price: "price_1", amount: 8000n }],
  });
  return { ...object, ...more };
}

/** @param payment pr_… of a record, pi_… of a card */
function paid(id: string, payment: string, amount: bigint, at: number): JsonObject {
  return invoicePaymentObject({ id, invoice: "in_1", payment, amount, currency, paidAt: at });
}

interface Reported {
  readonly type: string;
  readonly at: number;
  readonly object: JsonObject;
}

const outside = (number: number, amount: bigint, days = number): Reported => {
  const at = paidAt + days * day;
  const object = paid(`inpay_${number}`, `pr_${number}`, amount, at);
  return { type: "invoice_payment.paid", at, object };
};
const whole = (off: number | null, days: number): Reported => ({
  type: "invoice.paid",
  at: paidAt + days * day,
  object: invoice(off === null ? {} : { amount_paid_off_stripe: off }),
});

/** Received in that order. */
function factsOf(reported: readonly Reported[]): Fact[] {
  return reported.flatMap(({ type, at, object }, place) => {
    const id = `evt_${place}`;
    const decoded = decode(stripeEvent({ id, type, at, object }));
    if (decoded.outcome !== "facts") throw new Error(decoded.outcome);
    return decoded.facts.map(({ happenedAt, body }, position) => {
      const ids = { fact_id: `${id}:${position}`, event_id: id };
      return factOf(body, { ...ids, received_at: place, happened_at: happenedAt, quote });
    });
  });
}

function amountOf(reported: readonly Reported[]): bigint | undefined {
  return paymentState("in_1", factsOf(reported)).document?.gross_amount;
}

describe("An invoice paid outside Stripe by several records", () => {
  const cases: [title: string, reported: Reported[], amount: bigint][] = [
    ["add them up", [outside(1, 6000n), outside(2, 4000n), whole(null, 2)], 10_000n],
    ["add up those of one second", [outside(1, 6000n, 1), outside(2, 4000n, 1)], 10_000n],
    ["count a record once that is reported twice", [outside(1, 6000n), outside(1, 6000n)], 6000n],
    [
      "believe the invoice that reports all of it",
      [outside(1, 6000n), outside(2, 5000n), whole(10_000, 2)],
      10_000n,
    ],
    ["believe it where no record was reported", [whole(10_000, 2)], 10_000n],
    [
      "count a record reported after the invoice no second time",
      [whole(10_000, 1), outside(1, 6000n, 2), outside(2, 4000n, 3)],
      10_000n,
    ],
  ];
  for (const [title, reported, amount] of cases) {
    it(`should ${title}, whatever comes first`, () => {
      for (const order of ordersOf(reported)) expect(amountOf(order)).to.equal(amount);
    });
  }

  it("should be booked record by record, at the time of the one received first", () => {
    const { ledger, versions } = paymentVersions(
      "in_1",
      factsOf([outside(1, 6000n), outside(2, 4000n), whole(null, 2)]),
    );
    expect(versions.at(-1)?.document).to.include({
      gross_amount: 10_000n,
      tax_amount: 2000n,
      timestamp: paidAt + day,
      external_id: "prod_1",
    });
    const sums = new Map<string, bigint>();
    for (const { fact, amount } of ledger) {
      sums.set(fact.event_id, (sums.get(fact.event_id) ?? 0n) + amount);
    }
    expect([...sums]).to.deep.equal([
      ["evt_0", 6000n],
      ["evt_1", 4000n],
      ["evt_2", 0n],
    ]);
  });

  it("should leave a card its part of the tax, which comes after that of the records", () => {
    const at = paidAt + 3 * day;
    const object = chargeObject({
      id: "ch_1",
      paymentIntent: "pi_1",
      customer: "cus_1",
      amount: 5000n,
      currency,
      createdAt: at,
    });
    const card: Reported[] = [
      { type: "charge.succeeded", at, object },
      { type: "invoice_payment.paid", at, object: paid("inpay_3", "pi_1", 5000n, at) },
    ];
    const reported = [...card, outside(1, 3000n), outside(2, 2000n), whole(null, 4)];
    for (const order of ordersOf(reported)) {
      const facts = factsOf(order);
      for (const payment of ["in_1", "pi_1"]) {
        const { document, moves } = paymentState(payment, facts);
        expect(document).to.include({ gross_amount: 5000n, tax_amount: 1000n });
        expect(moves.flatMap(entriesOf).map(({ amount }) => amount)).to.deep.equal([5000n]);
      }
    }
  });

  it("should be added up from the history, where all are read in one second", () => {
    const read = (name: string, data: readonly JsonObject[]) =>
      stripeBackfill.lists
        .find((list) => list.name === name)
        ?.read({ object: "list", data, has_more: false }, paidAt + 90 * day, anyTime)?.events ?? [];
    const events = [
      ...read("invoices", [invoice()]),
      ...read("invoice_payments", [
        paid("inpay_1", "pr_1", 6000n, paidAt + day),
        paid("inpay_2", "pr_2", 4000n, paidAt + 2 * day),
      ]),
    ];
    const reported = events.map(({ body }) => decode(body));
    const facts = reported.flatMap((decoded, place) =>
      (decoded.outcome === "facts" ? decoded.facts : []).map(({ happenedAt, body }, position) => {
        const ids = { fact_id: `${place}:${position}`, event_id: `e${place}` };
        return factOf(body, { ...ids, received_at: place, happened_at: happenedAt, quote });
      }),
    );
    expect(paymentState("in_1", facts).document?.gross_amount).to.equal(10_000n);
  });
});
