/** Authorizations that Stripe gives back without having collected them: refunds of no money. */
import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { decode } from "../../../providers/stripe/decode.js";
import { type JsonObject, stripeEvent } from "../../../ops/payloads/stripe.js";
import { chargeObject, refundObject } from "../../../ops/payloads/stripe-money.js";
import type { Fact } from "../../../schemas/records/records.js";
import { quoteOf } from "../../harness/fact-bodies.js";
import { factOf } from "../../harness/facts.js";

const version = "2024-06-20";
const paidAt = Date.UTC(2026, 4, 4, 12);
const [paymentIntent, currency] = ["pi_1", "EUR"];
const quote = quoteOf();

const release = (amount: bigint): JsonObject =>
  refundObject({ ...ids("re_left"), amount, createdAt: paidAt, isRelease: true });
const refund = refundObject({ ...ids("re_back"), amount: 3000n, createdAt: paidAt });

function ids(id: string) {
  return { id, charge: "ch_1", paymentIntent, currency };
}

function charge(more: Partial<Parameters<typeof chargeObject>[0]>): JsonObject {
  return chargeObject({
    id: "ch_1",
    paymentIntent,
    currency,
    customer: null,
    amount: 10_000n,
    createdAt: paidAt,
    version,
    ...more,
  });
}

/** As it was before 2020-08: what was captured is what is left of the amount. */
function withoutCaptured({ amount_captured: _left, ...rest }: JsonObject): JsonObject {
  return rest;
}

function booked(reported: readonly (readonly [type: string, object: JsonObject])[]) {
  const facts = reported.flatMap(([type, object], second): Fact[] => {
    const at = paidAt + second * 1000;
    const decoded = decode(stripeEvent({ id: `evt_${second}`, type, at, object, version }));
    if (decoded.outcome !== "facts") return [];
    return decoded.facts.map(({ body }, place) =>
      factOf(body, {
        fact_id: `${second}:${place}`,
        event_id: `evt_${second}`,
        received_at: second,
        happened_at: at,
        quote,
      }),
    );
  });
  const { document, moves } = paymentState(paymentIntent, facts);
  const amounts = moves.flatMap(entriesOf).map(({ amount }) => amount);
  return {
    gross: document?.gross_amount ?? null,
    refunded: document?.refunded_amount ?? null,
    revenue: amounts.reduce((sum, amount) => sum + amount, 0n),
  };
}

describe("A released Stripe authorization", () => {
  const held = charge({ captured: false });
  const part = charge({ amountCaptured: 8000n, amountRefunded: 2000n });
  const none = { gross: null, refunded: null, revenue: 0n };
  const most = { gross: 8000n, refunded: 0n, revenue: 8000n };
  const cases: [string, [string, JsonObject][], ReturnType<typeof booked>][] = [
    [
      "no refund of what was never captured",
      [
        ["charge.succeeded", held],
        ["refund.created", release(10_000n)],
      ],
      none,
    ],
    ["nothing by itself", [["charge.refund.updated", release(10_000n)]], none],
    [
      "no refund of what was captured in part",
      [
        ["charge.captured", part],
        ["refund.created", release(2000n)],
      ],
      most,
    ],
    [
      "no refund beside a refund of such a payment",
      [
        ["charge.captured", part],
        ["refund.created", release(2000n)],
        ["refund.created", refund],
        ["charge.refunded", charge({ amountCaptured: 8000n, amountRefunded: 5000n })],
      ],
      { gross: 8000n, refunded: 3000n, revenue: 5000n },
    ],
    [
      "no money in a charge that says by it alone what was captured",
      [["charge.captured", withoutCaptured({ ...part, refunds: { data: [release(2000n)] } })]],
      most,
    ],
    [
      "no refund in the list of a charge of which more may be captured",
      [
        [
          "charge.updated",
          charge({ amountCaptured: 8000n, captured: false, refunds: [release(1000n)] }),
        ],
      ],
      most,
    ],
  ];
  for (const [title, reported, expected] of cases) {
    it(`should be ${title}`, () => {
      expect(booked(reported)).to.deep.equal(expected);
    });
  }
});
