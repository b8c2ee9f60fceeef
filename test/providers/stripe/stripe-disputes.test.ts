/** How much of a Stripe dispute came back, by the balance transactions inside. */
import { expect } from "chai";
import { disputeObject } from "../../../ops/payloads/stripe-money.js";
import { stripeEvent } from "../../../ops/payloads/stripe.js";
import { decode } from "../../../providers/stripe/decode.js";
import { bodiesOf } from "../../harness/decoded.js";
import { cell, rowsOf } from "../../model/tables/table.js";

const whole = "whole";

describe("A dispute at Stripe", () => {
  // Balance transactions: the amount, at which second, and the rate where there is one.
  const cases = rowsOf(`
    what                                     | status | moves                            | back
    all of what came back                    | lost   | -10000@1 10000@2                 | whole @2
    the part that had been refunded          | lost   | -10000@1 3000@2                  | 3000 @2
    all of what was won, at whatever rate    | won    | -9120@1 9085@2                   | whole @2
    a part at two rates, to the cent         | lost   | -9120@1x0.912 2750@2x0.91667     | 3000 @2
    all of it at two rates                   | lost   | -9120@1x0.912 9085@2x0.9085      | whole @2
    a part by its money, where a rate is odd | lost   | -9120@1x0.912 2736@2x?           | 3000 @2
    a third, rounded once                    | lost   | -3@1 1@2                         | 3333 @2
    a part in two moves                      | lost   | -10000@1 1000@2 2000@3           | 3000 @3
    the part after it was withdrawn again    | lost   | -10000@1 10000@2 -10000@3 3000@4 | 3000 @4
    nothing while it is withdrawn again      | lost   | -10000@1 3000@2 -3000@3          | whole @-
    nothing while it is open                 | open   | -10000@1                         | whole @-
  `);
  for (const row of cases) {
    it(`should give back ${row["what"]}`, () => {
      const status = cell(row, "status").replace("open", "needs_response");
      expect(returned(status, cell(row, "moves"))).to.equal(cell(row, "back"));
    });
  }
});

/** `amount @second`; the amount of the dispute is 100.00 USD. */
function returned(status: string, moves: string): string {
  const input = { id: "du_1", charge: "ch_1", paymentIntent: "pi_1", createdAt: 0, status };
  const object = disputeObject({ ...input, amount: 10000n, currency: "USD" });
  const balance_transactions = moves.split(" ").map((move) => {
    const [amount = "", created = "", rate] = move.split(/[@x]/);
    const moved = { amount: Number(amount), created: Number(created) };
    if (rate === undefined) return moved;
    return { ...moved, exchange_rate: rate === "?" ? rate : Number(rate) };
  });
  const type = "charge.dispute.closed";
  const odd = { ...object, balance_transactions };
  const event = stripeEvent({ id: "evt_1", type, at: 9000, object: odd });
  const [body] = bodiesOf(decode(event));
  if (body === undefined || !("Dispute" in body)) return "nothing";
  const { returned_amount: amount, returned_at: at } = body.Dispute;
  return `${amount ?? whole} @${at === null ? "-" : at / 1000}`;
}
