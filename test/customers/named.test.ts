/** Whom providers' own events name. */
import { expect } from "chai";
import type { NamedCustomer, ProviderToken } from "../../providers/provider.js";
import { parseBody } from "../../schemas/parse.js";
import { readIngestEvent } from "../../providers/ingest-event.js";
import type { FactBody } from "../../schemas/records/records.js";
import { fixturesOf, providers } from "../harness/provider-cases.js";
import { must } from "../model/readers/json.js";

const at = Date.UTC(2026, 5, 1, 9);
const known = {
  kept: new Map<string, unknown>(),
  answers: new Map<string, unknown>(),
  nativeId: "evt_1",
  receivedAt: at,
  firstReceivedAt: at,
};

function namedBy(token: ProviderToken, body: unknown): readonly NamedCustomer[] {
  return must(providers.get(token)?.customers, token)(body, known);
}

function stripeEvent(type: string, object: object, more: object = {}) {
  return { id: "evt_1", object: "event", type, created: at / 1000, data: { object }, ...more };
}

describe("Whom an event names", () => {
  it("should be who the facts are of, in every example of every provider", () => {
    let named = 0;
    for (const [token, provider] of providers) {
      for (const { name, body, known: given } of fixturesOf(token)) {
        const parsed = parseBody(provider, body);
        if (!parsed.ok) continue;
        const all = { ...known, ...given };
        const decoded = provider.decode(parsed.value, all);
        if (decoded.outcome !== "facts") continue;
        const accounts = decoded.facts.flatMap(({ body: fact }) => accountIn(fact) ?? []);
        if (accounts.length === 0) continue;
        for (const { account } of provider.customers?.(parsed.value, all) ?? []) {
          named += 1;
          expect(accounts, `${token} ${name}`).to.include(account);
        }
      }
    }
    expect(named).to.be.greaterThan(100);
  });

  it("should be a customer of Stripe, as its own events say", () => {
    const object = { id: "cus_1", object: "customer", name: "Ada", email: "ada@example.com" };
    expect(namedBy("stripe", stripeEvent("customer.updated", object))).to.deep.equal([
      { account: "cus_1", id: "cus_1", name: "Ada", email: "ada@example.com", at, merchant: null },
    ]);
  });

  it("should be whom an invoice of Stripe has, and of a connected account its own", () => {
    const object = {
      object: "invoice",
      customer: "cus_1",
      customer_name: "Ada",
      customer_email: "ada@example.com",
    };
    const event = stripeEvent("invoice.paid", object, { account: "acct_1" });
    const [named] = namedBy("stripe", event);
    const said = { id: "cus_1", name: "Ada", email: "ada@example.com", merchant: "acct_1" };
    expect(named).to.deep.equal({ account: "acct_1:cus_1", at, ...said });
    const url = must(providers.get("stripe")?.customerUrl, "stripe");
    expect(url({ id: "cus_1", merchant: "acct_1" }, "test")).to.equal(
      "https://dashboard.stripe.com/acct_1/test/customers/cus_1",
    );
  });

  it("should be of a charge of Stripe only what the payment says", () => {
    const object = {
      object: "charge",
      customer: "cus_1",
      billing_details: { name: "A Card", email: null },
      receipt_email: "receipts@example.com",
    };
    const named = namedBy("stripe", stripeEvent("charge.succeeded", object));
    expect(named.map(({ name, email, ofPayment }) => [name, email, ofPayment])).to.deep.equal([
      [null, null, undefined],
      ["A Card", "receipts@example.com", true],
    ]);
  });

  it("should be an expanded customer of Stripe whole, and of a guest nobody", () => {
    const customer = { id: "cus_1", object: "customer", name: "Ada", email: null };
    const [named] = namedBy("stripe", stripeEvent("invoice.paid", { object: "invoice", customer }));
    expect(named).to.deep.include({ account: "cus_1", name: "Ada", email: null });
    const guest = { object: "charge", customer: null, billing_details: { name: "Guest" } };
    expect(namedBy("stripe", stripeEvent("charge.succeeded", guest))).to.deep.equal([]);
    expect(namedBy("stripe", stripeEvent("payment_intent.succeeded", customer))).to.deep.equal([]);
  });

  it("should be a customer of Paddle by events of its own, elsewhere its id", () => {
    const event = (event_type: string, data: object) => ({
      event_id: "evt_1",
      event_type,
      occurred_at: "2026-06-01T09:00:00.123456Z",
      data,
    });
    const person = { id: "ctm_1", name: "Ada", email: "ada@example.com" };
    const when = at + 123;
    expect(namedBy("paddle", event("customer.updated", person))).to.deep.equal([
      { account: "ctm_1", ...person, at: when },
    ]);
    const [named] = namedBy("paddle", event("transaction.completed", { customer_id: "ctm_1" }));
    const nothing = { name: null, email: null };
    expect(named).to.deep.equal({ account: "ctm_1", id: "ctm_1", ...nothing, at: when });
  });

  it("should be the user of Lemon Squeezy", () => {
    const attributes = {
      customer_id: 12,
      user_name: "Ada",
      user_email: "ada@example.com",
      updated_at: "2026-06-01T09:00:00.000000Z",
    };
    const data = { type: "orders", id: "1", attributes };
    expect(namedBy("lemonsqueezy", { meta: { event_name: "order_created" }, data })).to.deep.equal([
      { account: "12", id: "12", name: "Ada", email: "ada@example.com", at },
    ]);
  });

  it("should be the customer of Polar", () => {
    const customer = { id: "cus_1", name: null, billing_name: "Ada", email: "ada@example.com" };
    const event = { type: "order.paid", timestamp: "2026-06-01T09:00:00.000000Z" };
    const named = [{ account: "cus_1", id: "cus_1", name: "Ada", email: "ada@example.com", at }];
    expect(namedBy("polar", { ...event, data: { customer } })).to.deep.equal(named);
    const updated = { ...event, type: "customer.updated", data: customer };
    expect(namedBy("polar", updated)).to.deep.equal(named);
  });

  it("should be the customer of Chargebee, else its company", () => {
    const person = { id: "c1", first_name: "Ada", last_name: null, email: "ada@example.com" };
    const event = (customer: object) => ({
      id: "ev_1",
      event_type: "payment_succeeded",
      occurred_at: 1,
      content: { customer },
    });
    const named = { account: "c1", id: "c1", email: "ada@example.com", at };
    const dated = { ...person, resource_version: at };
    expect(namedBy("chargebee", event(dated))).to.deep.equal([{ ...named, name: "Ada" }]);
    const company = { ...dated, first_name: null, company: "Engines Ltd" };
    expect(namedBy("chargebee", event(company))).to.deep.equal([{ ...named, name: "Engines Ltd" }]);
  });

  it("should be whom the app told RevenueCat of", () => {
    const event = {
      type: "RENEWAL",
      event_timestamp_ms: at,
      original_app_user_id: "user 1",
      app_user_id: "user 2",
      subscriber_attributes: {
        $email: { value: "ada@example.com", updated_at_ms: at },
        $displayName: { value: "Ada", updated_at_ms: at },
      },
    };
    expect(namedBy("revenuecat", { event })).to.deep.equal([
      { account: "user 1", id: "user 1", name: "Ada", email: "ada@example.com", at },
    ]);
  });

  it("should be the buyer at Gumroad, by the e-mail where there is no account", () => {
    const sale = {
      resource_name: "sale",
      sale_id: "s1",
      sale_timestamp: "2026-06-01T09:00:00Z",
      product_id: "p1",
      price: "500",
      email: "Ada@Example.com",
      full_name: "Ada",
    };
    expect(namedBy("gumroad", sale)).to.deep.equal([
      { account: "ada@example.com", id: null, name: "Ada", email: "Ada@Example.com", at },
    ]);
    expect(namedBy("gumroad", { ...sale, purchaser_id: "77" })).to.deep.include.members([
      { account: "77", id: "77", name: "Ada", email: "Ada@Example.com", at },
    ]);
    const gift = { is_gift_receiver_purchase: "true", gifter_email: "bob@example.com" };
    expect(namedBy("gumroad", { ...sale, ...gift })).to.deep.equal([
      { account: "bob@example.com", id: null, name: null, email: "bob@example.com", at },
    ]);
  });

  it("should be whom a record names, in form A and B and by a webhook of one's own", () => {
    const person = { customer_name: " Ada ", customer_email: "ada@example.com" };
    const money = { amount: 5, currency: "EUR", customer_id: "c1", ...person };
    const formA = { provider: "custom", event_type: "transaction.sale", ...money };
    const { amount, currency, customer_id } = money;
    const formB = {
      provider: "stripe",
      event_type: "charge.succeeded",
      payload: { amount: amount * 100, currency, customer_id, ...person },
    };
    const said = { account: "c1", id: "c1", name: "Ada", email: "ada@example.com", at };
    for (const body of [formA, formB]) {
      const read = readIngestEvent(body, providers, at);
      expect(read.ok && read.customers("evt_1")).to.deep.equal([said]);
    }
    expect(namedBy("custom", formA)).to.deep.equal([said]);
    const whole = stripeEvent("customer.updated", { id: "cus_1", object: "customer", name: "Ada" });
    const native = { provider: "stripe", event_type: "customer.updated", payload: whole };
    const read = readIngestEvent(native, providers, at);
    expect(read.ok && read.customers("evt_1")).to.have.lengthOf(1);
  });

  it("should be nobody where texts are of other kinds, and never fail", () => {
    for (const [token, provider] of providers) {
      for (const body of [null, 1, "x", [], {}, { event: {} }, { data: { object: {} } }]) {
        expect(provider.customers?.(body, known) ?? [], token).to.deep.equal([]);
      }
    }
    const object = { id: "cus_1", object: "customer", name: { first: "Ada" }, email: 7 };
    expect(namedBy("stripe", stripeEvent("customer.updated", object))).to.deep.include.members([
      { account: "cus_1", id: "cus_1", name: null, email: null, at, merchant: null },
    ]);
  });

  it("should be nobody in the app stores", () => {
    for (const token of ["apple", "google"] as const) {
      expect(providers.get(token)?.customers).to.equal(undefined);
    }
  });
});

function accountIn(fact: FactBody): string | null {
  for (const part of Object.values(fact)) {
    if (typeof part === "object" && "account" in part && typeof part.account === "string") {
      return part.account;
    }
  }
  return null;
}
