/**
 * Records and flat events beside a provider's own: with the ids docs/import.md reports they are
 * about the same payment, subscription and account.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { readConfig } from "../../config.js";
import { createApple } from "../../providers/apple/index.js";
import {
  appleNotification,
  type AppInput,
  notificationBody,
  renewalInfo,
  transactionInfo,
} from "../../ops/payloads/apple.js";
import { makeTestChain } from "../../ops/payloads/apple-test-chain.js";
import { createProviders } from "../../providers/index.js";
import { readIngestEvent } from "../../providers/ingest-event.js";
import { lemonEvent, type LemonObject, orderObject } from "../../ops/payloads/lemonsqueezy.js";
import { invoiceObject } from "../payloads/lemonsqueezy.js";
import { purchaseBody } from "../../ops/payloads/revenuecat.js";
import { chargeObject } from "../../ops/payloads/stripe-money.js";
import {
  type JsonObject,
  priceObject,
  stripeEvent,
  subscriptionObject,
} from "../../ops/payloads/stripe.js";
import { openEndpoints } from "../harness/endpoints.js";

const dayMs = 86_400_000;
const at = Math.floor((Date.now() - 10 * dayMs) / 1000) * 1000;
const appleSigner = makeTestChain();
let eventsMade = 0;

function stripeBody(type: string, object: JsonObject) {
  const id = `evt_same_${(eventsMade += 1)}`;
  const payload = stripeEvent({ id, type, at, object });
  return { provider: "stripe", event_type: type, payload };
}

function stripeCharge() {
  const of = { id: "ch_same", paymentIntent: "pi_same", customer: "cus_same" };
  const money = { amount: 1000n, currency: "eur", createdAt: at } as const;
  return stripeBody("charge.succeeded", chargeObject({ ...of, ...money }));
}

function stripeSubscription(name: string) {
  const made = { currency: "eur", product: "prod_same", createdAt: at };
  const price = priceObject({ ...made, id: "price_same", unitAmount: 1000n, interval: "month" });
  const object = subscriptionObject({
    ...made,
    id: `sub_${name}`,
    customer: `cus_${name}`,
    status: "active",
    items: [{ id: "si_same", price }],
  });
  return stripeBody("customer.subscription.created", object);
}

function lemonBody(name: string, object: LemonObject) {
  return { provider: "lemonsqueezy", event_type: name, payload: lemonEvent({ name, object }) };
}

const lemonMoney = { customer: 7, currency: "EUR", total: 1000n, createdAt: at, updatedAt: at };

function appleSubscribed(id: string) {
  const app: AppInput = { bundleId: "com.example.same", appAppleId: 1, environment: "Production" };
  const reported = { product: "pro", signedAt: at };
  const transaction = transactionInfo(app, {
    ...reported,
    id,
    originalId: id,
    purchasedAt: at,
    expiresAt: at + 31 * dayMs,
    price: 10_000n,
    currency: "EUR",
  });
  const renewal = renewalInfo(app, { ...reported, originalId: id });
  const about = { id: `n-${id}`, type: "SUBSCRIBED", subtype: "INITIAL_BUY", status: 1 };
  const notification = appleNotification(app, { ...about, signedAt: at, transaction, renewal });
  const signed = createApple().sign(notificationBody(notification), appleSigner, at);
  const payload: unknown = JSON.parse(signed.body.toString());
  return { provider: "apple", event_type: "SUBSCRIBED", payload };
}

function revenueCatPurchase() {
  const body = purchaseBody("INITIAL_PURCHASE", {
    id: "rc-same",
    at,
    transaction: "GPA.1..0",
    original: "GPA.1",
    user: "user-same",
    product: "pro",
    store: "AMAZON",
    purchasedAt: at,
    expirationAt: at + 31 * dayMs,
    amount: 1000n,
    currency: "EUR",
  });
  const payload: unknown = JSON.parse(body.toString());
  return { provider: "revenuecat", event_type: "INITIAL_PURCHASE", payload };
}

function record(provider: string, event_type: string, ids: object) {
  return { provider, event_type, amount: 10, currency: "EUR", ...ids };
}

function flat(provider: string, event_type: string, ids: object) {
  return { provider, event_type, payload: { amount: 1000, currency: "eur", ...ids } };
}

describe("Records and flat events with a provider's own ids", () => {
  const providers = createProviders(readConfig({}));
  const order = lemonBody("order_created", orderObject({ ...lemonMoney, id: 1001, product: 3 }));
  const invoice = lemonBody(
    "subscription_payment_success",
    invoiceObject({ ...lemonMoney, id: 1001, subscription: 55, reason: "renewal" }),
  );
  const charge = stripeCharge();
  const ofCustomer = { customer_id: "7" };
  const apple = appleSubscribed("2001");
  const cases: readonly [title: string, own: object, reported: object][] = [
    [
      "a charge of Stripe",
      charge,
      record("stripe", "transaction.sale", { transaction_id: "pi_same", customer_id: "cus_same" }),
    ],
    [
      "a subscription of Stripe, free so that nothing is paid",
      stripeSubscription("same"),
      record("stripe", "subscription.new", {
        amount: 0,
        subscription_id: "sub_same",
        customer_id: "cus_same",
      }),
    ],
    [
      "an order of Lemon Squeezy",
      order,
      record("lemonsqueezy", "transaction.sale", { transaction_id: "order:1001", ...ofCustomer }),
    ],
    [
      "an order of Lemon Squeezy, flat",
      order,
      flat("lemonsqueezy", "order_created", { transaction_id: "1001", ...ofCustomer }),
    ],
    [
      "an order of Lemon Squeezy, flat and named by its event",
      order,
      flat("lemonsqueezy", "order_created", { id: "1001", ...ofCustomer }),
    ],
    [
      "an invoice of Lemon Squeezy, flat",
      invoice,
      flat("lemonsqueezy", "subscription_payment_success", {
        transaction_id: "1001",
        ...ofCustomer,
      }),
    ],
    [
      "a first invoice of Lemon Squeezy, flat under its order's name",
      order,
      flat("lemonsqueezy", "subscription_payment_success", {
        transaction_id: "order:1001",
        ...ofCustomer,
      }),
    ],
    [
      "a subscription of Apple",
      apple,
      record("apple", "subscription.new", { subscription_id: "2001", transaction_id: "2001" }),
    ],
    [
      "a subscription of Apple, flat",
      apple,
      flat("apple", "SUBSCRIBED", { subscription_id: "2001", transaction_id: "2001" }),
    ],
    [
      "a purchase reported by RevenueCat",
      revenueCatPurchase(),
      record("revenuecat", "subscription.new", {
        subscription_id: "GPA.1",
        transaction_id: "GPA.1..0",
        customer_id: "user-same",
      }),
    ],
  ];
  for (const [title, own, reported] of cases) {
    it(`should be about the same as the webhook: ${title}`, () => {
      expect(subjectsOf(reported)).to.deep.equal(subjectsOf(own));
    });
  }

  it("should refund what a flat sale of the same words sold", () => {
    for (const [sold, refunded] of [
      ["order_created", "order_refunded"],
      ["subscription_payment_success", "subscription_payment_refunded"],
    ] as const) {
      const [sale] = factsOf(flat("lemonsqueezy", sold, { id: "9" }));
      const [refund] = factsOf(flat("lemonsqueezy", refunded, { id: "r", transaction_id: "9" }));
      if (!sale || !("Payment" in sale) || !refund || !("Refund" in refund)) throw new Error(sold);
      expect(refund.Refund).to.include({ refund: "r", payment: sale.Payment.payment });
    }
    const [alone] = factsOf(flat("lemonsqueezy", "order_refunded", { id: "r" }));
    expect(alone).to.have.nested.property("Refund.payment", null);
  });

  function factsOf(event: object) {
    const read = readIngestEvent(event, providers, Date.now());
    if (!read.ok) throw new Error(read.message);
    return read.facts(read.eventId ?? "drawn").map(({ body }) => body);
  }

  /** Each payment and subscription with its account. */
  function subjectsOf(event: object): string[] {
    return factsOf(event).flatMap((body) => {
      if ("Payment" in body) return `payment ${body.Payment.payment} of ${body.Payment.account}`;
      if (!("Subscription" in body)) return [];
      const { subscription, account } = body.Subscription;
      return `subscription ${subscription} of ${account}`;
    });
  }
});

describe("A churn that names a subscription", () => {
  const ended = new Date(at + 5 * dayMs).toISOString();

  it("should end what the provider's own event began", async () => {
    const shop = await openShop();
    await shop.send(appleSubscribed("2004"), stripeSubscription("left"));
    expect(await shop.mrr()).to.equal(20);
    await shop.send(churn("apple", { subscription_id: "2004" }));
    expect([await shop.mrr(), await shop.rejects()]).to.deep.equal([10, []]);
    await shop.send(churn("stripe", { subscription_id: "sub_left", customer_id: "cus_left" }));
    expect([await shop.mrr(), await shop.rejects()]).to.deep.equal([0, []]);
  });

  it("should end it whoever has it, also without its customer", async () => {
    const shop = await openShop();
    await shop.send(stripeSubscription("alone"), stripeSubscription("other"));
    await shop.send(churn("stripe", { subscription_id: "sub_alone" }));
    expect([await shop.mrr(), await shop.rejects()]).to.deep.equal([10, []]);
    await shop.send(churn("stripe", { subscription_id: "sub_other", customer_id: "cus_nobody" }));
    expect([await shop.mrr(), await shop.rejects()]).to.deep.equal([0, []]);
  });

  it("should wait while nobody has it, and end nothing", async () => {
    const shop = await openShop();
    await shop.send(stripeSubscription("kept"));
    await shop.send(churn("stripe", { subscription_id: "sub_kep" }));
    expect([await shop.mrr(), await shop.rejects()]).to.deep.equal([10, ["no_open_subscription"]]);
  });

  it("should end what is reported later, and be listed until it is replayed", async () => {
    const shop = await openShop();
    await shop.send(churn("apple", { subscription_id: "2005" }));
    expect(await shop.rejects()).to.deep.equal(["no_open_subscription"]);
    await shop.send(appleSubscribed("2005"));
    expect(await shop.mrr()).to.equal(0);
    await shop.replayAll();
    while ((await shop.rejects()).length > 0) await pause(50);
  });

  function churn(provider: string, ids: object) {
    return record(provider, "subscription.churn", { ...ids, occurred_at: ended });
  }

  async function openShop() {
    const endpoints = await openEndpoints();
    return {
      async send(...events: readonly object[]) {
        for (const event of events) {
          const { status, text } = await endpoints.ingest(event);
          expect(status, text).to.equal(202);
        }
        await endpoints.booked();
      },
      async mrr(): Promise<number> {
        return (await endpoints.get("/v1/metrics/mrr")).json.data.current_mrr;
      },
      async rejects(): Promise<string[]> {
        return (await endpoints.rejects()).map(({ reason }: { reason: string }) => reason);
      },
      async replayAll() {
        const given = { reason: "no_open_subscription" };
        const answer = await endpoints.manage("POST", `${endpoints.path}/rejects/replay`, given);
        expect(answer.json.data.replayed, answer.text).to.equal(1);
        await endpoints.booked();
      },
    };
  }
});
