/** Charges that are captured in part, little by little or beyond what was authorized. */
import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import { decode } from "../../../providers/stripe/decode.js";
import {
  type ApiVersion,
  apiVersions,
  type JsonObject,
  stripeEvent,
} from "../../../ops/payloads/stripe.js";
import {
  type ChargeInput,
  chargeObject,
  refundObject,
} from "../../../ops/payloads/stripe-money.js";
import type { Fact } from "../../../schemas/records/records.js";
import { bodiesOf, factsOf } from "../../harness/decoded.js";
import { rowsOf } from "../../model/tables/table.js";

const [old, since] = apiVersions;
const paidAt = Date.UTC(2026, 4, 4, 12);
const ids = { charge: "ch_1", paymentIntent: "pi_1", currency: "EUR" };

function charge(more: Partial<ChargeInput>): JsonObject {
  return chargeObject({
    id: "ch_1",
    paymentIntent: "pi_1",
    customer: null,
    amount: 10_000n,
    currency: "EUR",
    createdAt: paidAt,
    ...more,
  });
}

interface Reported {
  readonly type?: string;
  readonly object: JsonObject;
  /** After the payment; an event of its own. */
  readonly second: number;
  readonly version?: ApiVersion;
}

function decoded({ type = "charge.updated", object, second, version = since }: Reported) {
  const at = paidAt + second * 1000;
  return decode(stripeEvent({ id: "evt_1", type, at, object, version }));
}

/** Received in that order. */
function facts(events: readonly Reported[]): Fact[] {
  return events.flatMap((event, receipt) =>
    factsOf(decoded(event), { event_id: `e${event.second}`, received_at: receipt }),
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
  for (const row of cases) {
    for (const [version, expected] of [
      [since, row["new"]],
      [old, row["old"]],
    ] as const) {
      it(`should read of ${row["what"]}: ${expected} (${version})`, () => {
        const object = charge({
          version,
          amountCaptured: BigInt(row["captured"] ?? ""),
          amountRefunded: BigInt(row["back"] ?? ""),
          captured: row["final"] === "yes",
        });
        const event = { object: { ...object, refunded: row["all"] === "yes" }, second: 0, version };
        const money = bodiesOf(decoded(event)).flatMap((body) => {
          if ("Payment" in body) return [body.Payment.amount];
          return "RefundTotal" in body ? [body.RefundTotal.amount] : [];
        });
        expect(money.join(" - ") || "nothing").to.equal(expected);
      });
    }
  }

  const captured = (amountCaptured: bigint, second: number, isFinal = false): Reported => ({
    object: charge({ amountCaptured, captured: isFinal }),
    second,
  });

  it("should book the latest of several captures, whatever comes first", () => {
    const captures = [captured(6_000n, 1), captured(7_500n, 2), captured(9_000n, 3, true)] as const;
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
    for (const [small, large] of [
      ["evt_a", "evt_b"],
      ["evt_b", "evt_a"],
    ] as const) {
      const one = facts([captured(6_000n, 1)]).map((fact) => ({ ...fact, event_id: small }));
      const other = facts([captured(9_000n, 1)]).map((fact) => ({ ...fact, event_id: large }));
      for (const order of [one.concat(other), other.concat(one)]) {
        expect(paymentState("pi_1", order).document?.gross_amount, small).to.equal(9_000n);
      }
    }
  });

  it("should book what a later reading of the same event corrects", () => {
    const before = facts([captured(9_000n, 1, true)]);
    const after = facts([captured(6_000n, 1, true)]);
    const replayed = after.map((fact) => ({ ...fact, received_at: fact.received_at + 1 }));
    const { document } = paymentState("pi_1", [...before, ...replayed]);
    expect(document?.gross_amount).to.equal(6_000n);
  });
});

/** Authorizations that Stripe gives back without having collected them: refunds of no money. */
describe("A released Stripe authorization", () => {
  const version = old;
  const held = charge({ version, captured: false });
  const part = charge({ version, amountCaptured: 8000n, amountRefunded: 2000n });
  const released = { ...ids, id: "re_left", createdAt: paidAt, isRelease: true };
  const release = (amount: bigint) => refundObject({ ...released, amount });
  const refund = refundObject({ ...ids, id: "re_back", amount: 3000n, createdAt: paidAt });
  const pending = refundObject({ ...released, amount: 2000n, status: "pending" });
  const { balance_transaction: _left, ...unmarked } = release(2000n);
  // As it was before 2020-08: what was captured is what is left of the amount.
  const { amount_captured: _captured, ...uncounted } = part;
  const less = { version, amountCaptured: 8000n, amountRefunded: 5000n };
  const open = { version, amountCaptured: 8000n, captured: false, refunds: [release(1000n)] };
  const cases: [string, [type: string, object: JsonObject][], booked: string][] = [
    [
      "no refund of what was never captured",
      [
        ["charge.succeeded", held],
        ["refund.created", release(10_000n)],
      ],
      "nothing",
    ],
    ["nothing by itself", [["charge.refund.updated", release(10_000n)]], "nothing"],
    [
      "no refund of what was captured in part",
      [
        ["charge.captured", part],
        ["refund.created", release(2000n)],
      ],
      "8000 - 0 = 8000",
    ],
    [
      "no refund beside a refund of such a payment",
      [
        ["charge.captured", part],
        ["refund.created", release(2000n)],
        ["refund.created", refund],
        ["charge.refunded", charge(less)],
      ],
      "8000 - 3000 = 5000",
    ],
    [
      "no money in a charge that says by it alone what was captured",
      [["charge.captured", { ...uncounted, refunds: { data: [release(2000n)] } }]],
      "8000 - 0 = 8000",
    ],
    [
      "no refund in the list of a charge of which more may be captured",
      [["charge.updated", charge(open)]],
      "8000 - 0 = 8000",
    ],
    [
      "a refund while it is pending: nobody says yet that no balance moves",
      [
        ["charge.captured", charge({ version })],
        ["refund.created", pending],
      ],
      "10000 - 2000 = 8000",
    ],
    [
      "a refund where nothing is said of the balance",
      [
        ["charge.captured", charge({ version })],
        ["refund.created", unmarked],
      ],
      "10000 - 2000 = 8000",
    ],
  ];
  for (const [title, events, booked] of cases) {
    it(`should be ${title}`, () => {
      const reported = events.map(([type, object], second) => ({ type, object, second, version }));
      const { document, moves } = paymentState("pi_1", facts(reported));
      const amounts = moves.flatMap(entriesOf).map(({ amount }) => amount);
      const revenue = amounts.reduce((sum, amount) => sum + amount, 0n);
      const shown =
        document === null
          ? "nothing"
          : `${document.gross_amount} - ${document.refunded_amount} = ${revenue}`;
      expect(shown).to.equal(booked);
    });
  }
});
