/** How much of a Stripe dispute came back, by the balance transactions inside. */
import { expect } from "chai";
import { disputeObject } from "../../../ops/payloads/stripe-money.js";
import { apiVersions, eventBody, stripeEvent } from "../../../ops/payloads/stripe.js";
import { decode } from "../../../providers/stripe/decode.js";

/** `[amount, second]` or `[amount, second, exchange_rate]` */
type Move = readonly [amount: number, second: number, rate?: number | string];

const whole = "whole";

describe("A dispute at Stripe", () => {
  const cases: readonly [title: string, status: string, moves: Move[], expected: string][] = [
    [
      "all of what came back",
      "lost",
      [
        [-10000, 1],
        [10000, 2],
      ],
      `${whole} @2`,
    ],
    [
      "the part that had been refunded",
      "lost",
      [
        [-10000, 1],
        [3000, 2],
      ],
      "3000 @2",
    ],
    [
      "all of what was won, at whatever rate",
      "won",
      [
        [-9120, 1],
        [9085, 2],
      ],
      `${whole} @2`,
    ],
    [
      "a part at two rates, to the cent",
      "lost",
      [
        [-9120, 1, 0.912],
        [2750, 2, 0.91667],
      ],
      "3000 @2",
    ],
    [
      "all of it at two rates",
      "lost",
      [
        [-9120, 1, 0.912],
        [9085, 2, 0.9085],
      ],
      `${whole} @2`,
    ],
    [
      "a part by its money, where a rate is odd",
      "lost",
      [
        [-9120, 1, 0.912],
        [2736, 2, "?"],
      ],
      "3000 @2",
    ],
    [
      "a third, rounded once",
      "lost",
      [
        [-3, 1],
        [1, 2],
      ],
      "3333 @2",
    ],
    [
      "a part in two moves",
      "lost",
      [
        [-10000, 1],
        [1000, 2],
        [2000, 3],
      ],
      "3000 @3",
    ],
    [
      "the part after it was withdrawn again",
      "lost",
      [
        [-10000, 1],
        [10000, 2],
        [-10000, 3],
        [3000, 4],
      ],
      "3000 @4",
    ],
    [
      "nothing while it is withdrawn again",
      "lost",
      [
        [-10000, 1],
        [3000, 2],
        [-3000, 3],
      ],
      `${whole} @null`,
    ],
    ["nothing while it is open", "needs_response", [[-10000, 1]], `${whole} @null`],
  ];
  for (const [title, status, moves, expected] of cases) {
    it(`should give back ${title}`, () => {
      expect(returned(status, moves)).to.equal(expected);
    });
  }
});

/** `amount @second`; the amount of the dispute is 100.00 USD. */
function returned(status: string, moves: readonly Move[]): string {
  const input = { id: "du_1", charge: "ch_1", paymentIntent: "pi_1", createdAt: 0, status };
  const object = disputeObject({ ...input, amount: 10000n, currency: "USD" });
  const [version] = apiVersions;
  const balance_transactions = moves.map(([amount, created, rate]) =>
    rate === undefined ? { amount, created } : { amount, created, exchange_rate: rate },
  );
  const event = stripeEvent({
    id: "evt_1",
    type: "charge.dispute.closed",
    at: 9000,
    object: { ...object, balance_transactions },
    version,
    livemode: true,
  });
  const decoded = decode(JSON.parse(eventBody(event).toString()));
  const [fact] = decoded.outcome === "facts" ? decoded.facts : [];
  if (fact === undefined || !("Dispute" in fact.body)) return "nothing";
  const { returned_amount: amount, returned_at: at } = fact.body.Dispute;
  return `${amount ?? whole} @${at === null ? null : at / 1000}`;
}
