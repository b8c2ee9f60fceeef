/** What the ingest endpoint answers to a provider's own whole body: what booking makes of it. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { lemonEvent, orderObject } from "../../ops/payloads/lemonsqueezy.js";
import { disputeObject } from "../../ops/payloads/stripe-money.js";
import {
  type JsonObject,
  priceObject,
  stripeEvent,
  subscriptionObject,
} from "../../ops/payloads/stripe.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";

const dayMs = 86_400_000;
const daysAgo = Math.floor((Date.now() - 3 * dayMs) / 1000) * 1000;
/** When nobody reported what a Zimbabwean dollar was worth. */
const longAgo = Date.UTC(2001, 0, 5);
let idsMade = 0;

function stripeBody(type: string, at: number, object: JsonObject) {
  const payload = stripeEvent({ id: `evt_whole_${(idsMade += 1)}`, type, at, object });
  return { provider: "stripe", event_type: type, payload };
}

function dispute(
  amount: bigint,
  currency: string,
  move: "withdrawn" | "reinstated" = "withdrawn",
  at = daysAgo,
) {
  const object = disputeObject({
    id: "dp_whole",
    charge: "ch_whole",
    paymentIntent: "pi_whole",
    amount,
    currency,
    createdAt: at,
    status: "under_review",
    withdrawnAt: at - dayMs,
    ...(move === "reinstated" ? { returnedAt: at } : {}),
  });
  return stripeBody(`charge.dispute.funds_${move}`, at, object);
}

function subscription(currency: string, at: number) {
  const money = { currency, product: "prod_whole", createdAt: at };
  const price = priceObject({ ...money, id: "price_whole", unitAmount: 990n, interval: "month" });
  const object = subscriptionObject({
    ...money,
    id: "sub_whole",
    customer: "cus_whole",
    status: "active",
    items: [{ id: "si_whole", price }],
  });
  return stripeBody("customer.subscription.created", at, object);
}

function ended(endedAt: number) {
  const object = subscriptionObject({
    id: "sub_whole",
    customer: "cus_whole",
    currency: "EUR",
    status: "canceled",
    items: [],
    createdAt: daysAgo,
    endedAt,
  });
  return stripeBody("customer.subscription.deleted", daysAgo, object);
}

function order(createdAt: number) {
  const object = orderObject({
    id: 1,
    customer: 2,
    product: 3,
    currency: "USD",
    total: 1_990n,
    createdAt,
    updatedAt: daysAgo,
  });
  const payload = lemonEvent({ name: "order_created", object });
  return { provider: "lemonsqueezy", event_type: "order_created", payload };
}

describe("A provider's own body at the ingest endpoint", () => {
  const endpoints = suiteEndpoints();

  it("should be answered with the money a dispute takes, as it is booked", async () => {
    const answer = await endpoints.ingest(dispute(2_900n, "USD"));
    expect(answer.status, answer.text).to.equal(202);
    const { amount_base: amount, provisional } = answer.json.normalized;
    expect([amount > 0, provisional]).to.deep.equal([true, true]);
    const now = Date.now();
    while ((await endpoints.service.watermark.completeTo()) < now) await pause(10);
    const rows = await endpoints.service.clickhouse.rows(
      "SELECT toString(sum(amount)) AS sum FROM ledger WHERE workspace = {workspace:String}",
      { workspace: endpoints.workspace },
    );
    expect(rows).to.deep.equal([{ sum: `-${Math.round(amount * 100)}` }]);
  });

  it("should be answered with the money a won dispute returns", async () => {
    const { json } = await endpoints.ingest(dispute(2_900n, "EUR", "reinstated"));
    expect(json.normalized).to.include({ amount_base: 29, fx_rate: 1, provisional: true });
  });

  const refused: [title: string, body: object, code: string][] = [
    ["a dispute without a rate", dispute(2_900n, "ZWL", "withdrawn", longAgo), "fx_rate_missing"],
    ["a subscription without a rate", subscription("ZWL", longAgo), "fx_rate_missing"],
    ["an order of 1999", order(Date.UTC(1999, 11, 31)), "occurred_at_too_early"],
    ["an order of next week", order(Date.now() + 7 * dayMs), "occurred_at_in_future"],
    ["an end in 9999", ended(Date.UTC(9999, 11, 31)), "occurred_at_in_future"],
    ["an end in 1970", ended(0), "occurred_at_too_early"],
    ["more than can be counted in euros", dispute(10n ** 15n - 1n, "GBP"), "amount_too_large"],
  ];
  for (const [title, body, code] of refused) {
    it(`should be refused when it reports ${title}`, async () => {
      const before = await endpoints.taken();
      expectError(await endpoints.ingest(body), `422 ${code} payload`);
      expect(await endpoints.taken()).to.equal(before);
    });
  }
});
