/** Whom providers' own events name. */
import { expect } from "chai";
import type { ProviderToken } from "../../providers/provider.js";
import { parseBody } from "../../schemas/parse.js";
import { readIngestEvent } from "../../providers/ingest-event.js";
import type { FactBody } from "../../schemas/records/records.js";
import { fixturesOf, providers } from "../harness/provider-cases.js";
import { must } from "../model/readers/json.js";

const instant = "2026-06-01T09:00:00";
const at = Date.parse(`${instant}Z`);
const known = {
  kept: new Map<string, unknown>(),
  answers: new Map<string, unknown>(),
  nativeId: "evt_1",
  receivedAt: at,
  firstReceivedAt: at,
};

function stripeEvent(type: string, object: object, more: object = {}) {
  return { id: "evt_1", object: "event", type, created: at / 1000, data: { object }, ...more };
}

/** As most events name her. */
const ada = { account: "1", id: "1", name: "Ada", email: "ada@example.com", at };
const own = { merchant: null };
const unnamed = { name: null, email: null };

const person = { id: "1", name: "Ada", email: "ada@example.com" };
const customer = { ...person, object: "customer" };
const billed = { customer: "1", customer_name: "Ada", customer_email: "ada@example.com" };
const card = {
  billing_details: { name: "A Card", email: null },
  receipt_email: "card@example.com",
};
const ofAccount = stripeEvent(
  "invoice.paid",
  { object: "invoice", ...billed },
  { account: "acct_1" },
);
const oddTexts = { id: "1", object: "customer", name: { first: "Ada" }, email: 7 };

const paddle = (event_type: string, data: object) => {
  const occurred_at = `${instant}.123456Z`;
  return { event_id: "evt_1", event_type, occurred_at, data };
};
const polar = (type: string, data: object) => ({ type, timestamp: `${instant}.000000Z`, data });
const billedByPolar = { ...person, name: null, billing_name: "Ada" };
const chargebee = (names: object) => {
  const buyer = { id: "1", last_name: null, email: person.email, resource_version: at, ...names };
  const content = { customer: buyer };
  return { id: "ev_1", event_type: "payment_succeeded", occurred_at: 1, content };
};
const lemonUser = {
  customer_id: 1,
  user_name: "Ada",
  user_email: "ada@example.com",
  updated_at: `${instant}.000000Z`,
};
const renewal = {
  type: "RENEWAL",
  event_timestamp_ms: at,
  original_app_user_id: "1",
  app_user_id: "user 2",
  subscriber_attributes: {
    $email: { value: "ada@example.com", updated_at_ms: at },
    $displayName: { value: "Ada", updated_at_ms: at },
  },
};
const sale = {
  resource_name: "sale",
  sale_id: "s1",
  sale_timestamp: `${instant}Z`,
  product_id: "p1",
  price: "500",
  email: "Ada@Example.com",
  full_name: "Ada",
};
const gift = { ...sale, is_gift_receiver_purchase: "true", gifter_email: "bob@example.com" };
const bob = { account: "bob@example.com", id: null, name: null, email: "bob@example.com" };

/** How those that are named differ from Ada. */
type Case = readonly [title: string, body: unknown, ...named: object[]];
const cases: Partial<Record<ProviderToken, readonly Case[]>> = {
  stripe: [
    ["a customer", stripeEvent("customer.updated", customer), own],
    ["whom an invoice has", stripeEvent("invoice.paid", { object: "invoice", ...billed }), own],
    [
      "whom an invoice of a connected account has",
      ofAccount,
      { account: "acct_1:1", merchant: "acct_1" },
    ],
    [
      "who paid a charge, with what only the payment says",
      stripeEvent("charge.succeeded", { object: "charge", customer: "1", ...card }),
      { ...own, ...unnamed },
      { ...own, name: "A Card", email: "card@example.com", ofPayment: true },
    ],
    [
      "a whole customer where one is expanded",
      stripeEvent("invoice.paid", { object: "invoice", customer: { ...customer, email: null } }),
      { ...own, email: null },
    ],
    [
      "nobody where a guest paid",
      stripeEvent("charge.succeeded", { object: "charge", customer: null, ...card }),
    ],
    ["nobody where nothing is read", stripeEvent("payment_intent.succeeded", customer)],
    [
      "a customer without texts of other kinds",
      stripeEvent("customer.updated", oddTexts),
      { ...own, ...unnamed },
    ],
  ],
  paddle: [
    ["a customer with its name", paddle("customer.updated", person), { at: at + 123 }],
    [
      "a customer by its id alone",
      paddle("transaction.completed", { customer_id: "1" }),
      { ...unnamed, at: at + 123 },
    ],
  ],
  lemonsqueezy: [
    [
      "the user",
      {
        meta: { event_name: "order_created" },
        data: { type: "orders", id: "2", attributes: lemonUser },
      },
      {},
    ],
  ],
  polar: [
    ["the customer of an order", polar("order.paid", { customer: billedByPolar }), {}],
    ["the customer", polar("customer.updated", billedByPolar), {}],
  ],
  chargebee: [
    ["the customer", chargebee({ first_name: "Ada" }), {}],
    [
      "its company where it has no name",
      chargebee({ first_name: null, company: "Engines Ltd" }),
      { name: "Engines Ltd" },
    ],
  ],
  revenuecat: [["whom the app named", { event: renewal }, {}]],
  gumroad: [
    ["the buyer by e-mail", sale, { account: "ada@example.com", id: null, email: sale.email }],
    ["the buyer by account", { ...sale, purchaser_id: "1" }, { email: sale.email }],
    ["who gave a gift", gift, bob],
  ],
};

describe("Whom an event names", () => {
  it("should be who the facts are of, in every example of every provider", () => {
    let count = 0;
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
          count += 1;
          expect(accounts, `${token} ${name}`).to.include(account);
        }
      }
    }
    expect(count).to.be.greaterThan(100);
  });

  for (const [token, provider] of providers) {
    for (const [title, body, ...differing] of cases[token] ?? []) {
      it(`should be ${title}, in an event of ${token}`, () => {
        const named = differing.map((difference) => ({ ...ada, ...difference }));
        expect(provider.customers?.(body, known)).to.deep.equal(named);
      });
    }
  }

  it("should be found at Stripe in the connected account", () => {
    const url = must(providers.get("stripe")?.customerUrl, "stripe");
    expect(url({ id: "cus_1", merchant: "acct_1" }, "test")).to.equal(
      "https://dashboard.stripe.com/acct_1/test/customers/cus_1",
    );
  });

  it("should be whom a record names, in form A and B and by a webhook of one's own", () => {
    const names = { customer_name: " Ada ", customer_email: "ada@example.com" };
    const money = { amount: 5, currency: "EUR", customer_id: "c1", ...names };
    const formA = { provider: "custom", event_type: "transaction.sale", ...money };
    const { amount, currency, customer_id } = money;
    const formB = {
      provider: "stripe",
      event_type: "charge.succeeded",
      payload: { amount: amount * 100, currency, customer_id, ...names },
    };
    const said = { ...ada, account: "c1", id: "c1" };
    for (const body of [formA, formB]) {
      const read = readIngestEvent(body, providers, at);
      expect(read.ok && read.customers("evt_1")).to.deep.equal([said]);
    }
    expect(providers.get("custom")?.customers?.(formA, known)).to.deep.equal([said]);
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
