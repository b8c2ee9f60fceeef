/** Events leave out for which products a coupon is, and its other currencies: Stripe is asked. */
import { expect } from "chai";
import { paths } from "../providers/stripe/answers.js";
import { asks, decode } from "../providers/stripe/decode.js";
import {
  type Json,
  type JsonObject,
  priceObject,
  stripeEvent,
  subscriptionObject,
} from "../providers/stripe/payloads.js";

const version = "2025-09-30.clover";
const at = Date.UTC(2026, 2, 10, 9);
const none = new Map<string, unknown>();
const couponPath = paths.coupon("HALF");
const half = { id: "HALF", duration: "forever", percent_off: 50 };

/** Items of 10.00 each, one for each product. */
function subscription(coupon: Json, products: readonly string[]) {
  const object = subscriptionObject({
    id: "sub_1",
    customer: "cus_1",
    currency: "eur",
    status: "active",
    createdAt: at,
    version,
    items: products.map((product, place) => ({
      id: `si_${place}`,
      quantity: 1,
      price: priceObject({ id: `price_${place}`, product, currency: "eur", unitAmount: 1000n }),
    })),
  });
  const discounts = [{ id: "di_1", object: "discount", end: null, source: { coupon } }];
  const type = "customer.subscription.created";
  return stripeEvent({ id: "evt_1", type, at, object: { ...object, discounts }, version });
}

/** Minor units a month of each item. */
function worth(body: unknown, answers: ReadonlyMap<string, unknown>): string[] {
  const decoded = decode(body, { kept: none, answers });
  if (decoded.outcome !== "facts") return [decoded.outcome];
  return decoded.facts.flatMap(({ body: told }) =>
    "Subscription" in told
      ? (told.Subscription.steps[0]?.items ?? []).map((item) => `${item.monthly_numerator}`)
      : [],
  );
}

describe("What events leave out of a Stripe coupon", () => {
  const two = ["prod_1", "prod_2"];
  const limited = { applies_to: { products: ["prod_2"] } };
  const inDollars = { id: "HALF", duration: "forever", amount_off: 200, currency: "usd" };
  const answer = (more: object) => new Map([[couponPath, { id: "HALF", ...more }]]);
  const cases: [
    title: string,
    coupon: JsonObject,
    products: readonly string[],
    answers: ReadonlyMap<string, unknown>,
    asked: string[],
    worth: string[],
  ][] = [
    ["count for all until Stripe says so", half, two, none, [couponPath], ["500", "500"]],
    [
      "count for those Stripe answers",
      half,
      two,
      answer({ ...half, ...limited }),
      [],
      ["1000", "500"],
    ],
    ["count for all where Stripe names none", half, two, answer(half), [], ["500", "500"]],
    ["count for those the event shows", { ...half, ...limited }, two, none, [], ["1000", "500"]],
    [
      "ask for its amount in the subscription's currency",
      inDollars,
      ["prod_1"],
      none,
      [couponPath],
      ["rejected"],
    ],
    [
      "count by that amount",
      inDollars,
      ["prod_1"],
      answer({ ...inDollars, currency_options: { eur: { amount_off: 150 } } }),
      [],
      ["850"],
    ],
    ["need no answer where all is one product", half, ["prod_1"], none, [], ["500"]],
    ["need none when used once", { ...half, duration: "once" }, two, none, [], ["1000", "1000"]],
  ];
  for (const [title, coupon, products, answers, asked, expected] of cases) {
    it(`should ${title}`, () => {
      const body = subscription(coupon, products);
      const questions = asks(body, { kept: none, answers });
      const needed = questions.filter(
        ({ path, importance }) => importance === "needed" && !answers.has(path),
      );
      expect(needed.map(({ path }) => path)).to.deep.equal(asked);
      expect(worth(body, answers)).to.deep.equal(expected);
    });
  }

  it("should be asked about although an event told all else of it", () => {
    const kept = new Map<string, unknown>([["coupon:HALF", half]]);
    const body = subscription("HALF", two);
    const [question] = asks(body, { kept, answers: none });
    expect(question?.path).to.equal(couponPath);
  });
});
