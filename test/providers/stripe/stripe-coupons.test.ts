/** Events leave out for which products a coupon is, and its other currencies: Stripe is asked. */
import { expect } from "chai";
import { anyTime } from "../../../providers/backfill.js";
import { paths } from "../../../providers/stripe/answers.js";
import { stripeBackfill } from "../../../providers/stripe/history/backfill.js";
import { asks, decode } from "../../../providers/stripe/decode.js";
import {
  type Json,
  type JsonObject,
  type PriceInput,
  stripeEvent,
} from "../../../ops/payloads/stripe.js";
import { requiredOf, statesOf, stripeSubscription } from "../../harness/decoded.js";

const at = Date.UTC(2026, 2, 10, 9);
const none = new Map<string, unknown>();
const couponPath = paths.coupon("HALF");
const half = { id: "HALF", duration: "forever", percent_off: 50 };

/** Items of 10.00 each, one for each product. */
function subscription(
  coupon: Json,
  products: readonly string[],
  prices: readonly Partial<PriceInput>[] = [],
) {
  const object = stripeSubscription(
    at,
    products.map((product, place) => ({ product, ...prices[place] })),
  );
  const discounts = [{ id: "di_1", object: "discount", end: null, source: { coupon } }];
  const type = "customer.subscription.created";
  return stripeEvent({ id: "evt_1", type, at, object: { ...object, discounts } });
}

/** @param worth minor units a month of each item */
function expectRead(
  body: unknown,
  answers: ReadonlyMap<string, unknown>,
  asked: readonly string[],
  worth: string,
): void {
  expect(requiredOf(asks(body, { kept: none, answers }), answers)).to.deep.equal(asked);
  const decoded = decode(body, { kept: none, answers });
  const items = statesOf(decoded).flatMap(({ steps }) => steps[0]?.items ?? []);
  const read = items.map((item) => item.monthly_numerator).join(" ");
  expect(decoded.outcome === "facts" ? read : decoded.outcome).to.equal(worth);
}

describe("What events leave out of a Stripe coupon", () => {
  const two = ["prod_1", "prod_2"];
  const limited = { applies_to: { products: ["prod_2"] } };
  const inDollars = { id: "HALF", duration: "forever", amount_off: 200, currency: "usd" };
  const answer = (more: object) => new Map([[couponPath, { id: "HALF", ...more }]]);
  const one = ["prod_1"];
  const once = { ...half, duration: "once" };
  const forSecond = { ...half, ...limited };
  const inEuros = { ...inDollars, currency_options: { eur: { amount_off: 150 } } };
  type Answers = ReadonlyMap<string, unknown>;
  const cases: [title: string, JsonObject, string[], Answers, asked: string[], worth: string][] = [
    ["count for all until Stripe says so", half, two, none, [couponPath], "500 500"],
    ["count for those Stripe answers", half, two, answer(forSecond), [], "1000 500"],
    ["count for all where Stripe names none", half, two, answer(half), [], "500 500"],
    ["count for those the event shows", forSecond, two, none, [], "1000 500"],
    [
      "need its amount in the subscription's currency",
      inDollars,
      one,
      none,
      [couponPath],
      "rejected",
    ],
    ["count by that amount", inDollars, one, answer(inEuros), [], "850"],
    ["be asked for where all is one product, too", half, one, none, [couponPath], "500"],
    ["take nothing off another product", half, one, answer(forSecond), [], "1000"],
    ["need none when used once", once, two, none, [], "1000 1000"],
  ];
  for (const [title, coupon, products, answers, asked, expected] of cases) {
    it(`should ${title}`, () => {
      expectRead(subscription(coupon, products), answers, asked, expected);
    });
  }

  it("should not count for metered items alone", () => {
    const body = subscription(half, two, [{}, { usageType: "metered" }]);
    expectRead(body, none, [couponPath], "500");
    expectRead(body, answer(forSecond), [], "1000");
  });

  it("should be asked about although an event reported all else of it", () => {
    const kept = new Map<string, unknown>([["coupon:HALF", half]]);
    const body = subscription("HALF", two);
    const [question] = asks(body, { kept, answers: none });
    expect(question?.path).to.equal(couponPath);
  });
});

describe("A Stripe coupon that was deleted", () => {
  const gone = new Map<string, unknown>([[couponPath, null]]);
  const limited = { ...half, applies_to: { products: ["prod_2"] } };
  const discount = (coupon: Json) => ({ id: "di_1", end: null, source: { coupon } });
  const ofWhole = new Map([
    ...gone,
    [paths.subscriptionDiscounts("sub_1"), { id: "sub_1", discounts: [discount(limited)] }],
  ]);
  const ofItem = new Map([
    ...gone,
    [paths.itemDiscounts("sub_1"), { data: [{ id: "si_1", discounts: [discount(half)] }] }],
  ]);
  const whole = subscription("HALF", ["prod_1", "prod_2"]);
  const byId = withDiscounts(whole, ["di_1"], []);
  const onItem = withDiscounts(whole, [], [discount("HALF")]);
  const onItemById = withDiscounts(whole, [], ["di_1"]);
  const ofSubscription = [paths.subscriptionDiscounts("sub_1")];
  const ofItems = [paths.itemDiscounts("sub_1")];
  type Answers = ReadonlyMap<string, unknown>;
  const cases: [title: string, body: JsonObject, Answers, asked: string[], worth: string][] = [
    ["be asked for like the others", whole, none, [couponPath], "rejected"],
    ["be looked for in the subscription that has it", whole, gone, ofSubscription, "rejected"],
    ["count as it was, for its products", whole, ofWhole, [], "1000 500"],
    ["count by its discount's id, too", byId, ofWhole, [], "1000 500"],
    ["be looked for in the items, where one has it", onItem, gone, ofItems, "rejected"],
    ["count for the item that has it", onItem, ofItem, [], "500 1000"],
    ["count for that item by its discount's id, too", onItemById, ofItem, [], "500 1000"],
  ];
  for (const [title, body, answers, asked, expected] of cases) {
    it(`should ${title}`, () => expectRead(body, answers, asked, expected));
  }

  it("should count where a kept discount names it", () => {
    const kept = new Map<string, unknown>([["di_1", discount("HALF")]]);
    const decoded = decode(byId, { kept, answers: ofWhole });
    expect(decoded.outcome).to.equal("facts");
  });

  it("should be reported inside the discounts of a history", () => {
    const list = stripeBackfill.lists.find(({ name }) => name === "subscriptions");
    const path = list?.path({ from: at, to: at }, null) ?? "";
    const expands = [...new URL(path, "http://stripe.test").searchParams]
      .filter(([name]) => name.startsWith("expand"))
      .map(([, value]) => value);
    expect(expands).to.include("data.discounts.source.coupon");
    // Stripe refuses what goes deeper.
    for (const expand of expands) expect(expand.split(".").length).to.be.at.most(4);
  });

  it("should not make new events of a history when others use it", () => {
    const list = stripeBackfill.lists.find(({ name }) => name === "subscriptions");
    const idsOf = (timesRedeemed: number) => {
      const coupon = { ...half, times_redeemed: timesRedeemed, valid: timesRedeemed < 2 };
      const object: JsonObject = Object(subscription(coupon, ["prod_1"]).data).object;
      const page = { object: "list", data: [object], has_more: false };
      return list?.read(page, at, anyTime)?.events.map(({ nativeId }) => nativeId);
    };
    expect(idsOf(1)).to.deep.equal(idsOf(2));
  });
});

/** @param ofItem of the first */
function withDiscounts(body: JsonObject, ofWhole: Json[], ofItem: Json[]): JsonObject {
  const object: JsonObject = Object(body.data).object;
  const [first, ...others] = Object(object.items).data;
  const items = { data: [{ ...first, discounts: ofItem }, ...others] };
  return { ...body, data: { object: { ...object, discounts: ofWhole, items } } };
}
