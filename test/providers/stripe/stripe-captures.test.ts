/** Charges that are captured in part, little by little or beyond what was authorized. */
import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { createStripe } from "../../../providers/stripe/index.js";
import {
  type ApiVersion,
  apiVersions,
  eventBody,
  stripeEvent,
} from "../../../ops/payloads/stripe.js";
import { chargeObject } from "../../../ops/payloads/stripe-money.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { quoteOf } from "../../harness/fact-bodies.js";
import { factOf } from "../../harness/facts.js";
import { rowsOf } from "../../model/tables/table.js";

const stripe = createStripe({ toleranceSeconds: 300 });
const newest: ApiVersion = "2025-09-30.clover";
const paidAt = Date.UTC(2026, 4, 4, 12);
const quote = quoteOf();

interface Reading {
  readonly amount: bigint;
  readonly captured: bigint;
  readonly refunded: bigint;
  readonly isFinal: boolean;
  /** `refunded` of Stripe: all of it. */
  readonly isAllBack?: boolean;
}

/** What `charge.updated` reports, said at a second of its own. */
function reported(reading: Reading, second = 0, version = newest): readonly FactBody[] {
  const object = {
    ...chargeObject({
      id: "ch_1",
      paymentIntent: "pi_1",
      customer: null,
      amount: reading.amount,
      currency: "EUR",
      createdAt: paidAt,
      version,
      amountCaptured: reading.captured,
      amountRefunded: reading.refunded,
      captured: reading.isFinal,
    }),
    refunded: reading.isAllBack ?? false,
  };
  const at = paidAt + second * 1000;
  const body = eventBody(stripeEvent({ id: "evt_1", type: "charge.updated", at, object, version }));
  const decoded = stripe.decode(JSON.parse(body.toString()));
  return decoded.outcome === "facts" ? decoded.facts.map((fact) => fact.body) : [];
}

/** Received in that order, each reported at its own second. */
function facts(readings: readonly (readonly [Reading, number])[]): Fact[] {
  return readings.flatMap(([reading, second], receipt) =>
    reported(reading, second).map((body, place) =>
      factOf(body, {
        fact_id: `e${second}:${place}`,
        event_id: `e${second}`,
        received_at: receipt,
        happened_at: paidAt + second * 1000,
        quote,
      }),
    ),
  );
}

describe("A Stripe charge that is not captured as it was authorized", () => {
  const cases = rowsOf(`
    what                            | captured | final |  back | all | new           | old
    nothing captured                |        0 | no    |     0 | no  | nothing       | nothing
    a part, release in the total    |     6000 | yes   |  4000 | no  | 6000          | 6000
    a part, release not in it       |     6000 | yes   |     0 | no  | 6000          | 6000
    a refund, release not in it     |     6000 | yes   |  3000 | no  | 6000 - 3000   | 6000 - 3000
    a refund that may have it in it |     6000 | yes   |  5000 | no  | 6000 - 5000   | 6000 - 1000
    a refund, release in it         |     6000 | yes   |  7000 | no  | 6000 - 3000   | 6000 - 3000
    all of it back, release in it   |     6000 | yes   | 10000 | yes | 6000 - 6000   | 6000 - 6000
    all of it back, release not     |     6000 | yes   |  6000 | yes | 6000 - 6000   | 6000 - 6000
    more than was authorized        |    12000 | yes   |     0 | no  | 12000         | 12000
    more, and all of it refunded    |    12000 | yes   | 12000 | yes | 12000 - 12000 | 12000 - 12000
    the first of several captures   |     6000 | no    |     0 | no  | 6000          | 6000
    the first of several, a refund  |     6000 | no    |  1000 | no  | 6000 - 1000   | 6000 - 1000
  `);
  const [old, since] = apiVersions;
  for (const row of cases) {
    for (const [version, expected] of [
      [since, row["new"]],
      [old, row["old"]],
    ] as const) {
      it(`should read of ${row["what"]}: ${expected} (${version})`, () => {
        const reading = {
          amount: 10_000n,
          captured: BigInt(row["captured"] ?? ""),
          refunded: BigInt(row["back"] ?? ""),
          isFinal: row["final"] === "yes",
          isAllBack: row["all"] === "yes",
        };
        const money = reported(reading, 0, version).flatMap((body) => {
          if ("Payment" in body) return [body.Payment.amount];
          return "RefundTotal" in body ? [body.RefundTotal.amount] : [];
        });
        expect(money.join(" - ") || "nothing").to.equal(expected);
      });
    }
  }

  it("should book the latest of several captures, whatever comes first", () => {
    const base = { amount: 10_000n, refunded: 0n };
    const captures = [
      [{ ...base, captured: 6_000n, isFinal: false }, 1],
      [{ ...base, captured: 7_500n, isFinal: false }, 2],
      [{ ...base, captured: 9_000n, isFinal: true }, 3],
    ] as const;
    const [first, second, last] = captures;
    for (const order of [captures, [last, second, first], [second, last, first]]) {
      const { document, moves } = paymentState("pi_1", facts(order));
      expect([document?.gross_amount, document?.refunded_amount]).to.eql([9_000n, 0n]);
      expect(document?.timestamp).to.equal(paidAt);
      expect(moves.flatMap(entriesOf).map(({ amount }) => amount)).to.eql([9_000n]);
    }
    const { document } = paymentState("pi_1", facts([first]));
    expect(document?.gross_amount, "before the others").to.equal(6_000n);
  });

  it("should book the greatest of several captures of one second, whatever their ids", () => {
    const [small, large] = [6_000n, 9_000n].map((captured) => ({
      amount: 10_000n,
      refunded: 0n,
      captured,
      isFinal: false,
    }));
    if (small === undefined || large === undefined) throw new Error("there are two");
    for (const ids of [
      ["evt_a", "evt_b"],
      ["evt_b", "evt_a"],
    ] as const) {
      const one = facts([[small, 1]]).map((fact) => ({ ...fact, event_id: ids[0] }));
      const other = facts([[large, 1]]).map((fact) => ({ ...fact, event_id: ids[1] }));
      for (const order of [one.concat(other), other.concat(one)]) {
        expect(paymentState("pi_1", order).document?.gross_amount, ids[0]).to.equal(9_000n);
      }
    }
  });

  it("should book what a later reading of the same event corrects", () => {
    const base = { amount: 10_000n, refunded: 0n, isFinal: true };
    const [before] = facts([[{ ...base, captured: 9_000n }, 1]]);
    const [after] = facts([[{ ...base, captured: 6_000n }, 1]]);
    if (before === undefined || after === undefined) throw new Error("there are two");
    const replayed = { ...after, received_at: before.received_at + 1 };
    expect(paymentState("pi_1", [before, replayed]).document?.gross_amount).to.equal(6_000n);
  });
});
