/**
 * Invoices without charges: what an integration lacks, and how a payment is fetched for which no
 * event came.
 */
import { expect } from "chai";
import { stripeEvent, type JsonObject } from "../../ops/payloads/stripe.js";
import {
  fetchMissingPayments,
  type LookupMemory,
} from "../../processors/backfill/missing-payments.js";
import { openProviderApis } from "../../providers/api/provider-api.js";
import { accountHasher } from "../../stores/vault/account-hash.js";
import { neededOf, lackingByProvider } from "../../workspaces/needed-events.js";
import { apiKey } from "../apis/stripe-api.js";
import { dayMs, hourMs } from "../harness/days.js";
import { type Endpoints, openEndpoints, stripe } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import { soldMonth } from "../payloads/stripe-sales.js";
import { providers } from "../harness/provider-cases.js";

let eventsMade = 0;

/** No two tests have the same. */
function bought(name: string, outOfBand = false) {
  return soldMonth(name, Date.now(), { product: "mp", outOfBand });
}

describe("Invoices without charges", function suite() {
  this.timeout(120_000);

  async function opened(credentials: object = {}) {
    const endpoints = await openEndpoints({ hasStripe: false });
    const signing_secret = `whsec_${endpoints.workspace}`;
    const { id, webhook_path: path } = await endpoints.integrate("stripe", {
      signing_secret,
      ...credentials,
    });
    const deliver = async (type: string, object: JsonObject) => {
      eventsMade += 1;
      const event = stripeEvent({ id: `evt_mp_${eventsMade}`, type, at: Date.now(), object });
      const body = Buffer.from(JSON.stringify(event));
      const signed = stripe.sign(body, { signing_secret }, Date.now());
      const answer = await endpoints.post(path, signed);
      expect(answer.status, answer.text).to.equal(200);
    };
    const needs = async (what: string, afterMs: number) => {
      const source = { ...endpoints.service, providers };
      const answer = await neededOf(source, endpoints.workspace, Date.now() + afterMs);
      return answer.byIntegration.get(id)?.find((needed) => needed.for === what)?.state;
    };
    return { endpoints, id, deliver, needs, fetched: lookupOf(endpoints) };
  }

  /** Looks as if so much time had passed. */
  function lookupOf({ service }: Endpoints) {
    const memory: LookupMemory = new Map();
    const { signal: stopping } = new AbortController();
    return async (afterMs: number) => {
      const hashAccount = await accountHasher(service.postgres, service.vault);
      const apis = openProviderApis(service.config);
      const lookup = { ...service, providers, apis, stopping, hashAccount };
      await fetchMissingPayments(lookup, memory, Date.now() + afterMs);
    };
  }

  const transactions = async (endpoints: Endpoints) =>
    (await endpoints.get("/v1/transactions")).json.data;

  it("should be paid by what the API has after an hour, once, as by webhook", async () => {
    const { endpoints, deliver, needs, fetched } = await opened({ api_key: apiKey });
    const { invoice, paid, charge } = bought("fetched");
    endpoints.stripeApi.lists.set("/v1/invoice_payments", [paid, bought("other").paid]);
    endpoints.stripeApi.lists.set("/v1/charges", [charge, bought("other").charge]);
    const calls = () => endpoints.stripeApi.calls.filter((path) => path.includes("_fetched"));
    await deliver("invoice.paid", invoice);
    await endpoints.booked();
    expect(await transactions(endpoints)).to.deep.equal([]);
    await until(async () => (await needs("payments", 2 * hourMs)) === "missing");
    expect(await needs("payments", hourMs / 2)).to.equal("not_seen");
    await fetched(0);
    expect(calls()).to.deep.equal([]);

    await fetched(2 * hourMs);
    await endpoints.booked();
    const booked = await transactions(endpoints);
    expect(booked).to.have.lengthOf(1);
    expect(booked[0]).to.include({ gross_amount: 10, fee_amount: 0.54, type: "subscription" });
    expect(calls()).to.have.lengthOf(2);
    // It is whole now, though no charge came by itself.
    expect(await needs("payments", 2 * hourMs)).to.equal("not_seen");

    await deliver("charge.succeeded", charge);
    await deliver("invoice_payment.paid", paid);
    await endpoints.booked();
    await fetched(3 * hourMs);
    await endpoints.booked();
    expect(await transactions(endpoints)).to.deep.equal(booked);
    expect(calls()).to.have.lengthOf(2);
  });

  it("should be fetched later when the API does not answer now", async () => {
    const { endpoints, deliver, needs, fetched } = await opened({ api_key: apiKey });
    const { stripeApi } = endpoints;
    const { invoice, paid, charge } = bought("later");
    stripeApi.lists.set("/v1/invoice_payments", [paid]);
    stripeApi.lists.set("/v1/charges", [charge]);
    await deliver("invoice.paid", invoice);
    await endpoints.booked();
    await until(async () => (await needs("payments", 2 * hourMs)) === "missing");
    stripeApi.misbehave = (request, response) => {
      if (request.url?.includes("charges") !== true) return false;
      response.writeHead(400).end();
      return true;
    };
    await fetched(2 * hourMs).finally(() => (stripeApi.misbehave = null));
    expect(await needs("payments", 2 * hourMs)).to.equal("missing");
    await fetched(4 * hourMs);
    await endpoints.booked();
    expect(await transactions(endpoints)).to.have.lengthOf(1);
  });

  it("should be reported as missing without a key, by provider in the metrics too", async () => {
    const { endpoints, id, deliver, needs, fetched } = await opened();
    await deliver("invoice.paid", bought("silent").invoice);
    await endpoints.booked();
    await until(async () => (await needs("payments", 2 * hourMs)) === "missing");
    await fetched(2 * hourMs);
    expect(await needs("payments", 2 * hourMs)).to.equal("missing");
    const { json } = await endpoints.manage("GET", `${endpoints.path}/integrations`);
    const { health } = json.data.find((row: { id: string }) => row.id === id);
    const stateOf = (what: string) =>
      health.needed_events.find((needed: { for: string }) => needed.for === what);
    expect(stateOf("purchases")).to.include({ state: "received" });
    expect(stateOf("purchases").last_at).to.be.a("string");
    // An hour has not passed.
    expect(stateOf("payments")).to.deep.include({ state: "not_seen", last_at: null });
    expect(health.state).to.equal("receiving");
    const lacking = await lackingByProvider({ ...endpoints.service, providers });
    expect(lacking).to.include({ stripe: 0 });
    expect(await endpoints.service.metrics.registry.metrics()).to.include(
      'revenue_integrations_lacking_events{provider="stripe"} 0',
    );
  });

  it("should not be missing where invoices are paid outside Stripe, or nothing came", async () => {
    const { endpoints, deliver, needs } = await opened();
    expect(await needs("payments", 90 * dayMs)).to.equal("not_seen");
    await deliver("invoice.paid", bought("outside", true).invoice);
    await endpoints.booked();
    await until(async () => (await needs("purchases", 0)) === "received");
    expect(await needs("payments", 2 * hourMs)).to.equal("not_seen");
  });

  it("should be proved by lasting MRR, and subscriptions by their payments", async () => {
    const one = await opened();
    await one.deliver("customer.subscription.created", bought("unpaid").subscription);
    await one.endpoints.booked();
    await until(async () => (await one.needs("subscriptions", 0)) === "received");
    expect(await one.needs("payments", 30 * dayMs)).to.equal("not_seen");
    expect(await one.needs("payments", 40 * dayMs)).to.equal("missing");

    const other = await opened();
    const { invoice, paid, charge } = bought("unsubscribed");
    await other.deliver("charge.succeeded", charge);
    await other.deliver("invoice.paid", invoice);
    await other.deliver("invoice_payment.paid", paid);
    await other.endpoints.booked();
    await until(async () => (await other.needs("subscriptions", 2 * hourMs)) === "missing");
    expect(await other.needs("payments", 2 * hourMs)).to.equal("received");
    expect(await other.needs("subscriptions", 0)).to.equal("not_seen");
  });
});
