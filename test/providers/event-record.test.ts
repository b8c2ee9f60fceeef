import { expect } from "chai";
import { assert as assertAll, integer, property } from "fast-check";
import type { EventRecord } from "../../providers/record.js";
import { flatToRecord, readRecord } from "../../providers/record.js";
import { recordToFacts } from "../../providers/record-facts.js";
import { createStripe } from "../../providers/stripe/index.js";
import type { Item } from "../../schemas/records/records.js";
import { type Body, payment, purchase, refund, subscription } from "../harness/fact-bodies.js";

const receivedAt = Date.UTC(2026, 10, 20, 12);
const sale = { provider: "custom", event_type: "transaction.sale", amount: 19.99, currency: "EUR" };

function codeOf(value: unknown): string {
  const reading = readRecord(value, receivedAt);
  return reading.ok ? "ok" : `${reading.code} ${reading.param}`;
}

function recordOf(fields: object): EventRecord {
  const reading = readRecord({ ...sale, ...fields }, receivedAt);
  if (!reading.ok) throw new Error(reading.message);
  return reading.record;
}

describe("Form A", () => {
  it("should be dated two years ahead in the test environment, where test clocks run ahead", () => {
    const codeAt = (occurred_at: string) => {
      const reading = readRecord({ ...sale, occurred_at }, receivedAt, "test");
      return reading.ok ? "ok" : reading.code;
    };
    expect(codeAt("2028-11-20T12:00:00Z")).to.equal("ok");
    expect(codeAt("2028-11-22T12:00:00Z")).to.equal("occurred_at_in_future");
  });

  // What http/bad-input.test.ts sends to the endpoint is not here.
  const cases: readonly [title: string, fields: object, code: string][] = [
    ["a sale", {}, "ok"],
    ["every optional field", everyField(), "ok"],
    ["a currency in lower case", { currency: "eur" }, "ok"],
    ["nothing", { amount: 0 }, "ok"],
    ["the greatest amount", { amount: 9999999999999.99 }, "ok"],
    ["a field nobody knows", { amout: 1 }, "field_unknown amout"],
    ["a small negative amount", { amount: -0.001 }, "amount_negative amount"],
    ["1e400", { amount: JSON.parse("1e400") }, "amount_too_large amount"],
    ["-1e400", { amount: JSON.parse("-1e400") }, "amount_negative amount"],
    ["no number", { amount: NaN }, "amount_too_precise amount"],
    ["1e300", { amount: 1e300 }, "amount_too_large amount"],
    ["a cent above the greatest", { amount: 10_000_000_000_000 }, "amount_too_large amount"],
    ["a tenth of a cent", { amount: 0.001 }, "amount_too_precise amount"],
    ["five hundredths of a fil", { amount: 1.0005, currency: "KWD" }, "amount_too_precise amount"],
    ["a sum of floats", { amount: 0.1 + 0.2 }, "amount_too_precise amount"],
    ["next to nothing", { amount: 1e-300 }, "amount_too_precise amount"],
    ["a currency nobody knows", { currency: "ZZQ" }, "currency_unknown currency"],
    ["gold", { currency: "XAU" }, "currency_unknown currency"],
    ["a native event type", { event_type: "charge.succeeded" }, "event_type_unknown event_type"],
    ["a date in words", { occurred_at: "yesterday" }, "occurred_at_invalid occurred_at"],
    [
      "a day that is none",
      { occurred_at: "2026-02-30T00:00:00Z" },
      "occurred_at_invalid occurred_at",
    ],
    [
      "a time of no zone",
      { occurred_at: "2026-02-03T00:00:00" },
      "occurred_at_invalid occurred_at",
    ],
    ["a day ahead", { occurred_at: "2026-11-21T12:00:00Z" }, "ok"],
    [
      "more than a day ahead",
      { occurred_at: "2026-11-21T12:00:01Z" },
      "occurred_at_in_future occurred_at",
    ],
    ["an interval nobody knows", { interval: "quarter" }, "field_invalid interval"],
    ["no intervals", { interval_count: 0 }, "field_invalid interval_count"],
    // It may have been taken before the endpoint refused it, or come from a sender that signs.
    ["letters of no country", { customer_country: "QQ" }, "ok"],
    ["an empty id", { subscription_id: "" }, "field_invalid subscription_id"],
  ];
  for (const [title, fields, code] of cases) {
    it(`should answer ${code} to ${title}`, () => {
      expect(codeOf({ ...sale, ...fields })).to.equal(code);
    });
  }

  for (const body of [null, 7, "sale", []]) {
    it(`should refuse ${JSON.stringify(body)} as no object`, () => {
      expect(codeOf(body)).to.equal("body_not_an_object body");
    });
  }

  it("should read every amount of two decimals exactly", () => {
    assertAll(
      property(integer({ min: 0, max: 999_999_999_999_999 }), (cents) => {
        const text = cents.toString().padStart(3, "0");
        const amount: unknown = JSON.parse(`${text.slice(0, -2)}.${text.slice(-2)}`);
        expect(recordOf({ amount }).amount_minor).to.equal(BigInt(cents));
      }),
    );
  });
});

describe("A flat form B payload", () => {
  const { flatTypes } = createStripe({ toleranceSeconds: 300 });
  const payload = {
    id: "evt_flat_1",
    amount: 4900,
    currency: "usd",
    customer_country: "us",
    timestamp: "2026-11-19T08:00:00Z",
  };
  const read = (fields: object, type = "checkout.session.completed") =>
    flatToRecord("stripe", type, { ...payload, ...fields }, flatTypes, receivedAt);

  it("should become the record of its meaning", () => {
    expect(read({ product_id: "prod_1" })).to.deep.equal({
      ok: true,
      record: {
        provider: "stripe",
        event_type: "transaction.sale",
        event_id: "evt_flat_1",
        amount_minor: 4900n,
        currency: "USD",
        customer_country: "US",
        occurred_at: Date.UTC(2026, 10, 19, 8),
        product_id: "prod_1",
        interval: "month",
        interval_count: 1,
      },
    });
  });

  it("should name the known types when it is of none", () => {
    const reading = read({}, "toString");
    expect(reading).to.include({ ok: false, code: "event_type_unknown", param: "event_type" });
    expect(reading).to.have.property("message").that.includes("checkout.session.completed");
  });

  it("should say that its amount is in minor units when it is in major ones", () => {
    const reported = "payload.amount must be a whole number of the currency's minor unit";
    expect(read({ amount: 49.99 }))
      .to.have.property("message")
      .that.includes(reported);
  });

  const cases: readonly [title: string, fields: object, code: string][] = [
    ["half a cent", { amount: 4900.5 }, "amount_too_precise payload.amount"],
    ["a negative amount", { amount: -4900 }, "amount_negative payload.amount"],
    [
      "more than a number holds",
      { amount: JSON.parse("9007199254740993") },
      "amount_too_large payload.amount",
    ],
    ["a currency nobody knows", { currency: "zzq" }, "currency_unknown payload.currency"],
    ["a field nobody knows", { amount_total: 1 }, "field_unknown payload.amount_total"],
    ["a date in seconds", { timestamp: 1763600000 }, "occurred_at_invalid payload.timestamp"],
    ["1999", { timestamp: "1999-01-01T00:00:00Z" }, "occurred_at_too_early payload.timestamp"],
    ["two ids", { event_id: "evt_flat_2" }, "field_conflict payload.event_id"],
    ["two dates", { occurred_at: "2026-11-18T08:00:00Z" }, "field_conflict payload.occurred_at"],
  ];
  for (const [title, fields, code] of cases) {
    it(`should answer ${code} to ${title}`, () => {
      const reading = read(fields);
      expect(reading.ok ? "ok" : `${reading.code} ${reading.param}`).to.equal(code);
    });
  }
});

describe("The facts of a record", () => {
  const at = Date.UTC(2026, 5, 1);
  const reported = { occurred_at: "2026-06-01T00:00:00Z", product_id: "sku" };
  const paid = (more: Partial<Body<"Payment">> = {}) =>
    payment({
      payment: "identity",
      at,
      amount: 1999n,
      account: "identity",
      type: "one_time",
      lines: [{ external_id: "sku", weight: 1999n }],
      ...more,
    });
  const ofSubscription = { account: "sub", type: "subscription" } as const;
  const item: Item = {
    item: "sub",
    external_id: "sku",
    monthly_numerator: 1999n,
    monthly_denominator: 1n,
    plan_interval: "month",
  };
  const state = (items: Item[], more: Partial<Body<"Subscription">> = {}) =>
    subscription(at, [], {
      subscription: "sub",
      account: "sub",
      currency: items.length === 0 ? "" : "EUR",
      phase: "started",
      steps: [{ at, items }],
      ...more,
    });
  const returned = (more: Partial<Body<"Refund">> = {}) =>
    refund({
      refund: "identity",
      payment: null,
      at,
      amount: 1999n,
      account: "identity",
      lines: [{ external_id: "sku", weight: 1999n }],
      ...more,
    });
  const unidentified = {
    pool: '["priced","custom","sku","1999","EUR"]',
    side: "start",
    at,
    subscription: "unidentified:identity",
    account: "identity",
  };
  const named = {
    pool: '["named","custom","sub"]',
    side: "start",
    at,
    subscription: "sub",
    account: "sub",
  };
  const sold = purchase({ purchase: "record:sub", lines: [{ external_id: "sku", weight: 1n }] });

  const cases: readonly [title: string, fields: object, facts: object[]][] = [
    ["a sale", {}, [paid()]],
    ["a sale of a customer", { customer_id: "cus" }, [paid({ account: "cus" })]],
    ["a sale with its own id", { transaction_id: "tx" }, [paid({ payment: "tx" })]],
    ["a renewal", { subscription_id: "sub" }, [paid(ofSubscription)]],
    [
      "a renewal that does not say of what",
      { subscription_id: "sub", product_id: undefined, transaction_id: "tx" },
      [
        paid({ ...ofSubscription, payment: "tx", lines: [] }),
        { Link: { payment: "tx", purchase: "record:sub", as_of: at } },
      ],
    ],
    ["a sale of nothing", { amount: 0 }, []],
    [
      "a sale that names its product",
      { product_name: "Pro" },
      [paid(), { Sku: { external_id: "sku", name: "Pro" } }],
    ],
    [
      "a sale of no product",
      { product_id: undefined, customer_country: "at" },
      [paid({ country: "AT", lines: [{ external_id: "", weight: 1999n }] })],
    ],
    [
      "a new subscription",
      { event_type: "subscription.new", subscription_id: "sub" },
      [paid(ofSubscription), state([item]), { Unidentified: named }, sold],
    ],
    [
      "a new subscription by the year",
      { event_type: "subscription.new", subscription_id: "sub", interval: "year" },
      [
        paid(ofSubscription),
        state([{ ...item, monthly_denominator: 12n, plan_interval: "year" }]),
        { Unidentified: named },
        sold,
      ],
    ],
    [
      "a new subscription for nothing",
      { event_type: "subscription.new", subscription_id: "sub", amount: 0 },
      [state([]), { Unidentified: named }, sold],
    ],
    [
      "a new subscription without an id",
      { event_type: "subscription.new" },
      [
        paid({ type: "subscription" }),
        state([{ ...item, item: "unidentified:identity" }], {
          subscription: "unidentified:identity",
          account: "identity",
        }),
        { Unidentified: unidentified },
      ],
    ],
    [
      "a churn",
      { event_type: "subscription.churn", subscription_id: "sub" },
      [{ Unidentified: { ...named, side: "churn" } }, state([], { phase: "ended" })],
    ],
    [
      "a churn without an id",
      { event_type: "subscription.churn" },
      [{ Unidentified: { ...unidentified, side: "churn", subscription: "" } }],
    ],
    ["a refund that names no sale", { event_type: "transaction.refund" }, [returned()]],
    [
      "a refund of a sale",
      { event_type: "transaction.refund", transaction_id: "tx", product_id: undefined },
      [returned({ payment: "tx", lines: [] })],
    ],
    ["a refund of nothing", { event_type: "transaction.refund", amount: 0 }, []],
  ];
  for (const [title, fields, expected] of cases) {
    it(`should be right for ${title}`, () => {
      const facts = recordToFacts(recordOf({ ...reported, ...fields }), "identity", receivedAt);
      expect(facts).to.deep.equal(expected.map((body) => ({ happenedAt: at, body })));
    });
  }

  it("should be dated by the receipt when the record is not dated", () => {
    const [fact] = recordToFacts(recordOf({}), "identity", receivedAt);
    expect(fact?.happenedAt).to.equal(receivedAt);
    expect(fact?.body).to.have.nested.property("Payment.at", receivedAt);
  });
});

function everyField(): object {
  return {
    event_id: "evt",
    product_id: "sku",
    product_name: "Pro",
    subscription_id: "sub",
    customer_id: "cus",
    transaction_id: "tx",
    interval: "week",
    interval_count: 2,
    quantity: 2.5,
    customer_country: "de",
    occurred_at: "2026-01-01T01:00:00.123+02:00",
  };
}
