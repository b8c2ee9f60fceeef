/** Numbers nobody can book: a reject of the one event, whichever adapter reported it. */
import { expect } from "chai";
import { limits } from "../../config.js";
import { completeFacts } from "../../processors/normalize/facts.js";
import { paymentVersions } from "../../processors/book/payment/payment-versions.js";
import { createPaddle } from "../../providers/paddle/index.js";
import {
  eventBody,
  paddleEvent,
  productData,
  subscriptionData,
} from "../../ops/payloads/paddle.js";
import { type FactBody, factCodec } from "../../schemas/records/records.js";
import { suiteEndpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import { factOf, metaOf } from "../harness/facts.js";
import { payment, purchase, quoteOf, refund, subscription } from "../harness/fact-bodies.js";

const max = limits.amountMinorMax;
const usd = { amount: 100n, currency: "USD" };
const paid = { at: 1_000, ...usd };
const item = { item: "i", external_id: "p", monthly_numerator: 1n, monthly_denominator: 1n };
const line = { external_id: "p", weight: 1n };

const paddle = createPaddle({ toleranceSeconds: 300 });
const paddleSecret = "pdl_ntfset_of_the_bounds";

const subscriptionOf = (monthly: Partial<typeof item>): FactBody =>
  stepsOf([1_000, [{ ...item, ...monthly }]]);

/** Below year 0 and beyond 9999, as four digits and an offset from UTC can still say. */
const belowZero = Date.parse("0000-01-01T00:00:00+01:00");
const beyondAll = Date.parse("9999-12-31T23:59:59-01:00");
/** `latest` of `completed` */
const latest = 2_000;
const daysEnd = Date.UTC(2149, 5, 7);
const dispute = { dispute: "d", payment: "pi", ...usd, reported_by: "money" } as const;

function stepsOf(...steps: readonly [at: number, items: (typeof item)[]][]): FactBody {
  const given = { currency: "USD", steps: steps.map(([at, items]) => ({ at, items })) };
  return subscription(0, [], given);
}

function completed(body: FactBody, happenedAt = 1_000) {
  return completeFacts([{ happenedAt, body }], {
    meta: metaOf({ received_at: 1_000 }),
    position: { partition: 0, offset: 0n },
    baseCurrency: "JPY",
    amountMinorMax: max,
    earliest: 0,
    latest,
    hashAccount: (account) => account,
    quote: (currency) => quoteOf({ currency, base_currency: "JPY", rate: "150" }),
  });
}

const tooLarge: readonly [what: string, body: FactBody][] = [
  ["an amount beyond 15 digits in base currency", payment({ ...paid, amount: max })],
  ["a fee beyond 64 bits", payment({ ...paid, fee: 10n ** 24n })],
  ["a fee that only the base currency cannot hold", payment({ ...paid, fee: -max })],
  ["a tax beyond 15 digits", payment({ ...paid, tax: max + 1n })],
  ["a weight beyond 15 digits", payment({ ...paid, lines: [{ ...line, weight: -2n * max }] })],
  ["a purchase's fee", purchase({ fee: max + 1n })],
  ["a purchase's total", purchase({ total: max + 1n })],
  ["a monthly price above 64 bits", subscriptionOf({ monthly_numerator: 2n ** 63n })],
  ["a monthly price below 64 bits", subscriptionOf({ monthly_denominator: 2n ** 63n })],
];

const misdated: readonly [what: string, body: FactBody, happenedAt?: number][] = [
  ["a name reported beyond the year 9999", { Sku: { external_id: "p", name: "P" } }, beyondAll],
  ["a name reported below the year 0", { Sku: { external_id: "p", name: "P" } }, belowZero],
  ["what was reported at no time", { Sku: { external_id: "p", name: "P" } }, NaN],
  ["what was reported too far ahead", payment(paid), latest + 1],
  ["a payment too far ahead", payment({ ...paid, at: latest + 1 })],
  ["an end beyond the days there are", stepsOf([daysEnd, []])],
  ["an end below the year 0", stepsOf([belowZero, []])],
  ["a price too far ahead", stepsOf([latest + 1, [item]])],
  ["a price at no time", stepsOf([1_000, []], [NaN, [item]])],
  ["a refund's failure", refund({ ...paid, failed_at: beyondAll })],
  ["a withdrawal", { Dispute: { ...dispute, withdrawn_at: belowZero, returned_at: null } }],
  [
    "a return of what was withdrawn in time",
    { Dispute: { ...dispute, withdrawn_at: 1_000, returned_at: beyondAll } },
  ],
  ["a link's reading", { Link: { payment: "pi", purchase: "in", as_of: beyondAll } }],
  [
    "a part's payment",
    { Link: { payment: "pi", purchase: "in", part: { amount: 1n, at: latest + 1 } } },
  ],
];

describe("The bounds of a fact", () => {
  for (const [what, body, happenedAt] of misdated) {
    it(`should refuse the date of ${what}`, () => {
      const reported = completed(body, happenedAt);
      expect(reported).to.include({ outcome: "rejected", reason: "date_out_of_range" });
    });
  }

  it("should leave out what is announced for later than the days there are", () => {
    const last = Date.UTC(2148, 11, 31);
    const reported = completed(
      stepsOf([1_000, [item]], [last, []], [daysEnd, [item]], [beyondAll, []]),
    );
    if (reported.outcome !== "facts") throw new Error(reported.detail);
    const bodies = reported.facts.map(({ body }) => body);
    expect(bodies).to.deep.equal([stepsOf([1_000, [item]], [last, []])]);
  });

  it("should take an end that lies ahead", () => {
    expect(completed(stepsOf([latest + 1, []]))).to.include({ outcome: "facts" });
  });

  for (const [what, body] of tooLarge) {
    it(`should refuse ${what}`, () => {
      expect(completed(body)).to.include({ outcome: "rejected", reason: "amount_too_large" });
    });
  }

  it("should take the largest there are, and write them down", () => {
    const lines = [{ ...line, weight: max }];
    for (const body of [
      payment({ ...paid, amount: max / 2n, tax: -max / 2n, lines }),
      purchase({ tax: max, total: max, lines }),
      subscriptionOf({ monthly_numerator: 2n ** 63n - 1n, monthly_denominator: 2n ** 63n - 1n }),
    ]) {
      const reported = completed(body);
      if (reported.outcome !== "facts") throw new Error(reported.detail);
      for (const fact of reported.facts) factCodec.decode(factCodec.encode(fact));
    }
  });

  it("should keep out of the ledger what its rows cannot hold", () => {
    const lines = [
      { external_id: "a", weight: max },
      { external_id: "b", weight: 1n - max },
    ];
    const fact = factOf(payment({ ...paid, amount: max, lines }), {
      base_currency: "USD",
      quote: quoteOf({ currency: "USD", base_currency: "USD" }),
    });
    const { ledger, versions, beyond } = paymentVersions("pi", [fact]);
    expect([ledger.length, versions.length, beyond]).to.deep.equal([0, 0, [fact]]);
  });
});

describe("An event whose numbers nobody can book", () => {
  const endpoints = suiteEndpoints();

  it("should be a reject, and hold up nothing", async () => {
    const charge = {
      id: "ch_bounds",
      object: "charge",
      amount: 999_999_999_999_999,
      currency: "eur",
      created: 1_700_000_000,
      captured: true,
      status: "succeeded",
      paid: true,
      balance_transaction: { id: "txn", amount: 1, fee: 999_999_999, currency: "usd" },
    };
    const event = {
      id: "evt_bounds",
      object: "event",
      type: "charge.succeeded",
      created: 1_700_000_000,
      livemode: true,
      data: { object: charge },
    };
    expect((await endpoints.deliver(JSON.stringify(event))).status).to.equal(200);
    const sale = {
      provider: "custom",
      event_type: "transaction.sale",
      event_id: "bounds-after",
      occurred_at: "2026-10-01T00:00:00Z",
      amount: 12.5,
      currency: "EUR",
    };
    expect((await endpoints.ingest(sale)).status).to.equal(202);
    const shown = async () => {
      const { json: list } = await endpoints.get("/v1/transactions");
      return [
        list.data.map((row: Record<string, unknown>) => row["gross_amount"]),
        (await endpoints.rejects()).map((row: Record<string, unknown>) => row["reason"]),
      ];
    };
    const all = [[12.5], ["amount_too_large"]];
    await until(async () => (await shown()).every(({ length }) => length > 0));
    expect(await shown()).to.deep.equal(all);
  });

  it("should be a reject, and hold up nothing, when no store can hold its date", async () => {
    const credentials = { signing_secret: paddleSecret };
    const { webhook_path: path } = await endpoints.integrate("paddle", credentials);
    const at = Date.now();
    const ended = {
      ...subscriptionData({
        id: "sub_bounds",
        customer: "ctm_bounds",
        status: "canceled",
        currency: "EUR",
        items: [],
        startedAt: at,
      }),
      canceled_at: "9999-12-31T23:59:59.000000-01:00",
    };
    const named = productData({ id: "pro_bounds", name: "Bounds", createdAt: at });
    for (const event of [
      paddleEvent({ id: "evt_ended", type: "subscription.canceled", at, data: ended }),
      {
        ...paddleEvent({ id: "evt_named", type: "product.created", at, data: named }),
        occurred_at: "0000-01-01T00:00:00.000000+01:00",
      },
    ]) {
      const signed = paddle.sign(eventBody(event), credentials, Date.now());
      expect((await endpoints.post(path, signed)).status).to.equal(200);
    }
    const begun = {
      provider: "custom",
      event_type: "subscription.new",
      event_id: "bounds-begun",
      subscription_id: "bounds",
      amount: 7,
      currency: "EUR",
    };
    expect((await endpoints.ingest(begun)).status).to.equal(202);
    await until(async () => {
      const { json: mrr } = await endpoints.get("/v1/metrics/mrr");
      const { json: list } = await endpoints.get("/v1/transactions");
      return mrr.data.current_mrr === 7 && list.data[0].gross_amount === 7;
    });
    const rejects = await endpoints.rejects();
    const reported = rejects.filter((row: { provider: string }) => row.provider === "paddle");
    const reasons = reported.map((row: { reason: string }) => row.reason);
    expect(reasons).to.deep.equal(["date_out_of_range", "date_out_of_range"]);
  });

  it("should be a reject, and hold up nothing, when a text of it cannot be kept", async () => {
    const long = "x".repeat(66_000);
    const charge = { object: "charge", amount: 100, currency: "eur", captured: true, paid: true };
    const event = (id: string, fields: object) => ({
      id,
      object: "event",
      type: "charge.succeeded",
      created: 1_700_000_000,
      livemode: true,
      data: { object: { ...charge, id: "ch_l", created: 1_700_000_000, ...fields } },
    });
    const odd = [
      event("evt_payment", { payment_intent: long }),
      event("evt_account", { customer: long }),
      event("evt_charge", { id: long }),
      event(`evt_${long}`, {}),
      event("evt_nul", { payment_intent: "pi_\u0000" }),
      event("evt_half", { customer: "cus_\ud800" }),
    ];
    for (const [index, body] of odd.entries()) {
      expect((await endpoints.deliver(JSON.stringify(body))).status).to.equal(200);
      const native = { provider: "stripe", event_type: body.type, payload: body };
      const refused = await endpoints.ingest(native);
      expect(refused.status, refused.text).to.equal(422);
      expect(refused.json.error, index.toString()).to.include({ code: "malformed" });
      expect(refused.json.error.param).to.equal("payload");
    }
    const sale = { provider: "custom", event_type: "transaction.sale", amount: 1, currency: "EUR" };
    for (const field of ["event_id", "product_id", "subscription_id", "customer_id"]) {
      for (const text of ["é".repeat(128), "a\u0000", "a\ud800"]) {
        const refused = await endpoints.ingest({ ...sale, [field]: text });
        expect(refused.status, refused.text).to.equal(422);
        expect(refused.json.error.param).to.equal(field);
      }
    }
    expect((await endpoints.ingest({ ...sale, amount: 77 })).status).to.equal(202);
    await until(async () => {
      const { json: list } = await endpoints.get("/v1/transactions");
      return list.data.some((row: Record<string, unknown>) => row["gross_amount"] === 77);
    });
    const reasons = (await endpoints.rejects()).map((row: { reason: string }) => row.reason);
    expect(reasons.filter((reason: string) => reason === "malformed")).to.have.length(6);
  });
});
