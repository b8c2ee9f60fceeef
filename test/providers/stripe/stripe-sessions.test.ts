/** What a checkout session sold: no event shows its lines, so Stripe is asked. */
import { expect } from "chai";
import { entriesOf, type Entry } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { paths } from "../../../providers/stripe/answers.js";
import { asks, decode } from "../../../providers/stripe/decode.js";
import { productObject, stripeEvent } from "../../../ops/payloads/stripe.js";
import { chargeObject } from "../../../ops/payloads/stripe-money.js";
import { sessionObject } from "../../payloads/stripe-sales.js";
import type { Fact } from "../../../schemas/records/records.js";
import { factsOf } from "../../harness/decoded.js";
import { quoteOf } from "../../harness/fact-bodies.js";

const at = Date.UTC(2026, 2, 10, 9);
const none = new Map<string, unknown>();
const linesPath = paths.sessionLines("cs_1");
const atlas = productObject({ id: "prod_1", name: "Atlas", createdAt: at });
/** 10.00 and 20.00 net; tax on top of one, inside the other. */
const lines = {
  data: [
    { amount_total: 1100, amount_tax: 100, price: { product: atlas } },
    { amount_total: 2000, amount_tax: 0, price: { product: "prod_2" } },
  ],
  has_more: false,
};

function session(more: object = {}) {
  const object = sessionObject({
    id: "cs_1",
    mode: "payment",
    paymentStatus: "paid",
    amount: 3100n,
    currency: "usd",
    createdAt: at,
    paymentIntent: "pi_1",
    ...more,
  });
  return stripeEvent({ id: "evt_2", type: "checkout.session.completed", at, object });
}

describe("The lines of a checkout session", () => {
  const cases: [title: string, body: unknown, asked: string[]][] = [
    ["asked for when it was paid", session(), [linesPath]],
    ["not asked for before", session({ paymentStatus: "unpaid" }), []],
    [
      "not asked for where an invoice reports them",
      session({ mode: "subscription", paymentIntent: null }),
      [],
    ],
  ];
  for (const [title, body, expected] of cases) {
    it(`should be ${title}`, () => {
      const asked = asks(body, { kept: none, answers: none });
      expect(asked.map(({ path }) => path)).to.deep.equal(expected);
      // The payment is booked meanwhile.
      for (const { importance } of asked) expect(importance).to.equal("optional");
    });
  }

  it("should share its payment out by what each line cost without tax", () => {
    expect(revenueWith(none)).to.deep.equal([["", 3100n, 1]]);
    expect(revenueWith(new Map([[linesPath, lines]]))).to.deep.equal([
      ["prod_1", 1033n, 0],
      ["prod_2", 2067n, 1],
    ]);
  });

  it("should name the products that are reported with them", () => {
    const decoded = decode(session(), { kept: none, answers: new Map([[linesPath, lines]]) });
    expect(decoded).to.have.nested.property("facts[2].body.Sku").that.deep.equals({
      external_id: "prod_1",
      name: "Atlas",
    });
  });

  for (const isTurned of [false, true]) {
    const order = isTurned ? ", whatever the order" : "";
    it(`should count when reported after it was booked${order}`, () => {
      const booked = [...chargeFacts, ...received(session(), none, 2)];
      const enriched = received(session(), new Map([[linesPath, lines]]), 3);
      const facts = isTurned ? [...enriched, ...booked] : [...booked, ...enriched];
      const [first] = entriesKnown(facts);
      expect(first?.external_id).to.equal("prod_1");
    });
  }
});

function entriesKnown(facts: readonly Fact[]): Entry[] {
  return paymentState("pi_1", facts).moves.flatMap(entriesOf);
}

/** Product, amount and sales of each ledger entry. */
function revenueWith(answers: ReadonlyMap<string, unknown>): [string, bigint, number][] {
  const entries = entriesKnown([...chargeFacts, ...received(session(), answers, 2)]);
  return entries.map(({ external_id, amount, sales }) => [external_id, amount, sales]);
}

/** Received at that second. */
function received(body: unknown, answers: ReadonlyMap<string, unknown>, receipt: number): Fact[] {
  return factsOf(decode(body, { kept: none, answers }), {
    event_id: `evt_${receipt}`,
    received_at: receipt * 1000,
    base_currency: "USD",
    quote: quoteOf({ currency: "USD", base_currency: "USD" }),
  });
}

const chargeFacts = received(
  stripeEvent({
    id: "evt_1",
    type: "charge.succeeded",
    at,
    object: chargeObject({
      id: "ch_1",
      paymentIntent: "pi_1",
      customer: null,
      amount: 3100n,
      currency: "usd",
      createdAt: at,
    }),
  }),
  none,
  1,
);
