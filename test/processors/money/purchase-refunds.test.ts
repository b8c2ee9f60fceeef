/** Money returned outside Stripe for an invoice: what each of its payments gives back of it. */
import { expect } from "chai";
import { entriesOf } from "../../../processors/book/payment/entries.js";
import { paymentState } from "../../../processors/book/payment/payment.js";
import type { FactBody } from "../../../schemas/records/records.js";
import {
  linesOf,
  ordersOf,
  payment,
  purchase,
  quoteOf,
  received,
  refund,
  refundTotal,
} from "../../harness/fact-bodies.js";

/** The refund's own day has another rate than the sale's. */
const rates = new Map([
  [1_000, "1"],
  [2_000, "1"],
  [9_000, "2"],
]);

const currency = "USD";
const total = 10_000n;
const lines = linesOf({ atlas: 10_000n });
const invoice = purchase({ type: "one_time", tax: 1_000n, lines, total });

function paid(id: string, amount: bigint, at: number): FactBody[] {
  return [
    payment({ payment: id, at, amount, currency }),
    { Link: { payment: id, purchase: "in", part: { amount, at } } },
  ];
}

function note(
  id: string,
  amount: bigint,
  given: { at?: number; failed_at?: number; purchase?: string | null; tax?: bigint } = {},
): FactBody {
  const named = { refund: id, payment: "in", purchase: "in" };
  return refund({ ...named, at: 9_000, amount, currency, tax: null, ...given });
}

/** What the charge says of itself: Stripe's part of it alone. */
function refunded(amount: bigint): FactBody {
  return refundTotal({ payment: "p1", at: 9_500, amount, currency });
}

function ofCharge(amount: bigint): FactBody {
  return refund({ refund: "re", payment: "p1", at: 9_400, amount, currency });
}

/** What went out of a payment, by product, in base currency, and how its customer sees it. */
function shown(id: string, bodies: readonly FactBody[]): string {
  const facts = received(bodies, (body) => {
    const rate = rates.get("Payment" in body ? body.Payment.at : 9_000) ?? "2";
    return { quote: quoteOf({ currency, rate }) };
  });
  const own = facts.filter(({ body }) => !("Payment" in body) || body.Payment.payment === id);
  const { document, moves } = paymentState(id, own);
  const out = moves
    .flatMap(entriesOf)
    .filter(({ kind }) => kind !== "sale")
    .map(({ external_id: sku, amount, tax }) => `${sku || "-"} ${amount} (${tax})`);
  const seen = document === null ? [] : [`${document.status} ${document.refunded_amount}`];
  return [...seen, ...out].join(", ");
}

describe("A refund that names a purchase", () => {
  const card = paid("p1", 10_000n, 1_000);
  const two = [...paid("p1", 4_000n, 1_000), ...paid("p2", 6_000n, 2_000)];
  const outside = paid("in", 10_000n, 1_000);
  const cases: readonly [string, FactBody[], Record<string, string>][] = [
    [
      "cancel a card payment to the cent, at its rate, and take its product",
      [invoice, ...card, note("cn", 10_000n)],
      { p1: "refunded 10000, atlas -10000 (-1000)", in: "" },
    ],
    [
      "take a part of it",
      [invoice, ...card, note("cn", 2_500n)],
      { p1: "succeeded 2500, atlas -2500 (-250)", in: "" },
    ],
    [
      "come off the payment outside Stripe where there is one",
      [invoice, ...outside, note("cn", 10_000n)],
      { in: "refunded 10000, atlas -10000 (-1000)" },
    ],
    [
      "stand alone, at its own day's rate, while no payment is known",
      [invoice, note("cn", 2_500n)],
      { in: "- -5000 (0)", p1: "" },
    ],
    [
      "take from the first of two payments first",
      [invoice, ...two, note("cn", 3_000n)],
      { p1: "succeeded 3000, atlas -3000 (-300)", p2: "succeeded 0", in: "" },
    ],
    [
      "take the rest from the second, with its part of the tax",
      [invoice, ...two, note("cn", 9_000n, { tax: 900n })],
      { p1: "refunded 4000, atlas -4000 (-400)", p2: "succeeded 5000, atlas -5000 (-500)" },
    ],
    [
      "begin where another of the same purchase ended",
      [invoice, ...two, note("cn1", 3_000n, { at: 8_000 }), note("cn2", 7_000n)],
      {
        p1: "refunded 4000, atlas -3000 (-300), atlas -1000 (-100)",
        p2: "refunded 6000, atlas -6000 (-600)",
      },
    ],
    [
      "leave its place to the next when it is voided",
      [
        invoice,
        ...two,
        note("cn1", 10_000n, { at: 8_000, failed_at: 8_500 }),
        note("cn2", 10_000n),
      ],
      {
        p1: "refunded 4000, atlas -4000 (-400), atlas 4000 (400), atlas -4000 (-400)",
        p2: "refunded 6000, atlas -6000 (-600), atlas 6000 (600), atlas -6000 (-600)",
      },
    ],
    [
      "take what is beyond all payments from the last",
      [invoice, ...two, note("cn", 10_500n)],
      { p1: "refunded 4000, atlas -4000 (-400)", p2: "refunded 6500, atlas -6500 (-600)" },
    ],
    [
      "count once when an event of earlier days reported it without the purchase",
      [invoice, ...card, note("cn", 2_500n, { purchase: null }), note("cn", 2_500n)],
      { p1: "succeeded 2500, atlas -2500 (-250)", in: "" },
    ],
    [
      "come on top of what the charge says was refunded",
      [invoice, ...card, note("cn", 3_000n), refunded(5_000n)],
      { p1: "succeeded 8000, atlas -3000 (-300), atlas -5000 (-500)" },
    ],
    [
      "come on top of it also where a refund reports the same",
      [invoice, ...card, note("cn", 3_000n), ofCharge(5_000n), refunded(5_000n)],
      { p1: "succeeded 8000, atlas -3000 (-300), atlas -5000 (-500)" },
    ],
    [
      "leave what the charge says when it is voided",
      [invoice, ...card, note("cn", 3_000n, { failed_at: 9_900 }), refunded(5_000n)],
      { p1: "succeeded 5000, atlas -3000 (-300), atlas -5000 (-500), atlas 3000 (300)" },
    ],
  ];
  for (const [title, bodies, expected] of cases) {
    it(`should ${title}, whatever comes first`, () => {
      const orders = bodies.length > 5 ? [bodies, bodies.toReversed()] : ordersOf(bodies);
      for (const order of orders) {
        for (const [id, text] of Object.entries(expected)) {
          expect(shown(id, order), id).to.equal(text);
        }
      }
    });
  }
});
