/** What Paddle is asked, what is kept of its events, and where its API is. */
import { expect } from "chai";
import { createPaddle } from "../../providers/paddle/index.js";
import {
  discountData,
  type JsonObject,
  paddleEvent,
  priceData,
  productData,
  subscriptionData,
} from "../../ops/payloads/paddle.js";
import { transactionData } from "../../ops/payloads/paddle-money.js";
import { bodiesOf, requiredOf, worthIn } from "../harness/decoded.js";

const paddle = createPaddle({ toleranceSeconds: 60 });
const at = Date.UTC(2026, 2, 10, 9);
const product = productData({ id: "pro_1", name: "Atlas", createdAt: at });
const price = priceData({ id: "pri_1", product: "pro_1", unitAmount: 1000n, currency: "EUR" });
const discount = discountData({
  id: "dsc_1",
  type: "percentage",
  amount: "25",
  recur: true,
  createdAt: at,
});
const nothing = { kept: new Map(), answers: new Map() };
const addressPath = "/customers/ctm_1/addresses/add_1";

function subscription(more: object = {}) {
  const data = subscriptionData({
    id: "sub_1",
    customer: "ctm_1",
    address: "add_1",
    currency: "EUR",
    status: "active",
    startedAt: at,
    items: [{ price, quantity: 1 }],
    ...more,
  });
  return paddleEvent({ id: "evt_1", type: "subscription.created", at, data });
}
const discounted = subscription({ discount: { id: "dsc_1", startsAt: at } });
const discountCreated = paddleEvent({ id: "evt_2", type: "discount.created", at, data: discount });

describe("What Paddle is asked", () => {
  const line = { id: "txnitm_1", price, product, subtotal: 1000n };
  const paid = { id: "txn_1", currency: "EUR", createdAt: at, paidAt: at, lines: [line] };
  const transaction = (address?: string) =>
    paddleEvent({
      id: "evt_3",
      type: "transaction.completed",
      at,
      data: transactionData({
        ...paid,
        customer: "ctm_1",
        ...(address === undefined ? {} : { address }),
      }),
    });
  const whole = subscription({ items: [{ price, quantity: 1, product }] });
  const cases: [title: string, body: unknown, asked: string[]][] = [
    ["the country of a payment", transaction("add_1"), [`optional ${addressPath}`]],
    ["nothing where no address is named", transaction(), []],
    ["the country of a subscription", whole, [`optional ${addressPath}`]],
    [
      "the name of a product that is only named, and what a discount is",
      discounted,
      [`optional ${addressPath}`, "optional /products/pro_1", "required /discounts/dsc_1"],
    ],
    [
      "nothing of a product's own event",
      paddleEvent({ id: "evt_4", type: "product.created", at, data: product }),
      [],
    ],
    ["nothing of what is no event", [], []],
  ];
  for (const [title, body, asked] of cases) {
    it(`should be ${title}`, () => {
      const questions = paddle.asks?.(body, nothing) ?? [];
      expect(questions.map(({ importance, path }) => `${importance} ${path}`)).to.deep.equal(asked);
    });
  }

  const statuses: [status: string, type: string, isNeeded: boolean][] = [
    ["active", "updated", true],
    ["past_due", "past_due", true],
    ["trialing", "trialing", false],
    ["paused", "paused", false],
    ["canceled", "updated", false],
    ["active", "canceled", false],
  ];
  for (const [status, type, isNeeded] of statuses) {
    const need = isNeeded ? "need" : "not need";
    it(`should ${need} an answer for subscription.${type} of one that is ${status}`, () => {
      const ofUs = { country_codes: ["US"], unit_price: { amount: "1", currency_code: "EUR" } };
      const priced = { ...price, unit_price_overrides: [ofUs] };
      const more = { status, items: [{ price: priced, quantity: 1, product }] };
      const reported = subscription({ ...more, discount: { id: "dsc_1", startsAt: at } });
      const body = { ...reported, event_type: `subscription.${type}` };
      expect(requiredOf(paddle.asks?.(body, nothing) ?? [])).to.deep.equal(
        isNeeded ? [addressPath, "/discounts/dsc_1"] : [],
      );
      expect(paddle.decode(body, nothing).outcome).to.equal(isNeeded ? "rejected" : "facts");
    });
  }

  it("should not be a discount that an event has reported", () => {
    const [kept] = paddle.keeps?.(discountCreated) ?? [];
    expect(kept).to.include({ id: "dsc_1", reportedAt: at });
    expect(JSON.stringify(kept)).not.to.include("friends");
    expect(paddle.needs?.(discounted)).to.deep.equal(["dsc_1"]);
    const known = { ...nothing, kept: new Map([["dsc_1", kept?.object]]) };
    const asked = paddle.asks?.(discounted, known).map(({ path }) => path);
    expect(asked).not.to.include("/discounts/dsc_1");
    expect(worthIn(paddle.decode(discounted, known))).to.equal("EUR 750");
  });
});

describe("What an item costs a customer of Paddle", () => {
  const overridden = {
    ...price,
    unit_price_overrides: [
      { country_codes: ["AU", "NZ"], unit_price: { amount: "1700", currency_code: "AUD" } },
      { country_codes: ["JP"], unit_price: { amount: "1400", currency_code: "JPY" } },
      { country_codes: ["PL"], unit_price: { amount: "600", currency_code: "EUR" } },
      { country_codes: ["US"], unit_price: { amount: "1100", currency_code: "USD" } },
      { country_codes: ["EC"], unit_price: { amount: "500", currency_code: "USD" } },
    ],
  };
  const unknown = "enrichment_unavailable";
  const cases: [title: string, currency: string, country: string | null, expected: string][] = [
    ["the price of its country", "AUD", "NZ", "AUD 1700"],
    ["the only price in its currency while its country is not known", "AUD", null, "AUD 1700"],
    ["the only price in its currency after it moved", "JPY", "DE", "JPY 1400"],
    ["a lower price in the base currency, in its country", "EUR", "PL", "EUR 600"],
    ["the base price in other countries", "EUR", "DE", "EUR 1000"],
    ["no price while that depends on its country", "EUR", null, unknown],
    ["one of two prices in another currency, by its country", "USD", "EC", "USD 500"],
    ["none of two while its country is not known", "USD", null, unknown],
    ["none of two where its country has neither", "USD", "DE", unknown],
    ["the base price where Paddle converts it", "GBP", "GB", "EUR 1000"],
  ];
  for (const [title, currency, country, expected] of cases) {
    it(`should be ${title}`, () => {
      const body = subscription({ currency, items: [{ price: overridden, quantity: 1, product }] });
      const address = { data: { id: "add_1", country_code: country } };
      const answers = new Map(country === null ? [] : [[addressPath, address]]);
      expect(worthIn(paddle.decode(body, { ...nothing, answers }))).to.equal(expected);
    });
  }

  const secondPrice = { id: "pri_2", product: "pro_2", unitAmount: 2500n };
  const beside: [title: string, currency: string, other: string, expected: string][] = [
    ["the price that was set where Paddle converts both", "GBP", "EUR", "EUR 1000"],
    ["the one in its currency beside another that is", "JPY", "JPY", "JPY 1400"],
    ["none where Paddle converts the other alone", "JPY", "EUR", "prices_of_several_currencies"],
  ];
  for (const [title, currency, other, expected] of beside) {
    it(`should be, of two, ${title}`, () => {
      const second = priceData({ ...secondPrice, currency: other });
      const items = [overridden, second].map((each) => ({ price: each, quantity: 1, product }));
      const decoded = paddle.decode(subscription({ currency, items }), nothing);
      expect(worthIn(decoded)).to.equal(expected);
    });
  }

  for (const [title, currency, importance] of [
    ["needed where two prices have the currency", "USD", "required"],
    ["needed where an override has the base currency", "EUR", "required"],
    ["only optional where one price has it", "AUD", "optional"],
  ] as const) {
    it(`should make the country ${title}`, () => {
      const body = subscription({ currency, items: [{ price: overridden, quantity: 1, product }] });
      const asked = paddle.asks?.(body, nothing).map((question) => question.importance);
      expect(asked).to.deep.equal([importance]);
    });
  }
});

describe("The tax of a payment at Paddle", () => {
  const cases: [title: string, totals: JsonObject, expected: bigint | null][] = [
    ["that of what was collected", { grand_total_tax: "1000" }, 1000n],
    ["its part, reported the total before 2026", { grand_total_tax: "2000" }, 1000n],
    ["its part, reported the total only", { grand_total_tax: null }, 1000n],
    [
      "as reported where no credit was used",
      { grand_total: "12000", grand_total_tax: null },
      2000n,
    ],
    ["nothing where there is none", { tax: "0", grand_total_tax: "0" }, 0n],
    ["unknown where nothing reports it", { tax: null, grand_total_tax: null }, null],
  ];
  for (const [title, reported, expected] of cases) {
    it(`should be ${title}`, () => {
      const paid = { id: "txn_1", customer: "ctm_1", currency: "EUR", createdAt: at, paidAt: at };
      const withCredit = { tax: "2000", total: "12000", grand_total: "6000", ...reported };
      const details = { totals: withCredit, line_items: [] };
      const data = { ...transactionData({ ...paid, lines: [] }), details };
      const body = paddleEvent({ id: "evt_5", type: "transaction.completed", at, data });
      const [fact] = bodiesOf(paddle.decode(body, nothing));
      expect(fact).to.have.nested.property("Payment.tax", expected);
    });
  }
});

describe("Paddle's API", () => {
  const cases: [title: string, credentials: object, url: string][] = [
    ["live", {}, "https://api.paddle.com"],
    ["a sandbox by its key", { api_key: "pdl_sdbx_apikey_1" }, "https://sandbox-api.paddle.com"],
    ["live by its key", { api_key: "pdl_live_apikey_1" }, "https://api.paddle.com"],
    ["a sandbox when reported", { api_environment: "sandbox" }, "https://sandbox-api.paddle.com"],
    [
      "live when reported, whatever the key",
      { api_key: "pdl_sdbx_apikey_1", api_environment: "production" },
      "https://api.paddle.com",
    ],
  ];
  for (const [title, more, url] of cases) {
    it(`should be that of ${title}`, () => {
      const credentials = paddle.credentials.parse({ signing_secret: "pdl_1", ...more });
      expect(paddle.api?.baseUrl(credentials)).to.equal(url);
    });
  }

  it("should be asked with the key and the version, and not without a key", async () => {
    const post = async () => null;
    const none = { signing_secret: "pdl_1" };
    expect(await paddle.api?.authorize(none, at, post)).to.equal(null);
    const authorized = await paddle.api?.authorize({ ...none, api_key: "pdl_key" }, at, post);
    expect(authorized?.headers).to.deep.equal({
      authorization: "Bearer pdl_key",
      "paddle-version": "1",
    });
  });
});
