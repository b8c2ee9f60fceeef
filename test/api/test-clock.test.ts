/** In the test environment a provider's test clock may run ahead: what it reports is shown. */
import { expect } from "chai";
import { type Endpoints, openEndpoints } from "../harness/endpoints.js";

const dayMs = 24 * 60 * 60 * 1000;

describe("A test clock that runs ahead", () => {
  const ahead = new Date(Date.now() + 40 * dayMs).toISOString();
  let endpoints: Endpoints;
  before(async () => {
    endpoints = await openEndpoints();
  });

  /** A subscription and its first payment, in 40 days. */
  async function subscribe(key: string): Promise<number> {
    const begun = {
      provider: "custom",
      event_type: "subscription.new",
      amount: 10,
      currency: "EUR",
      subscription_id: "sub_ahead",
      occurred_at: ahead,
    };
    return (await endpoints.ingest(begun, { authorization: `Bearer ${key}` })).status;
  }

  it("should show in figures and lists of the test environment", async () => {
    const { key } = await endpoints.newKey("Test", "Full Ingress");
    expect(await subscribe(key)).to.equal(202);
    await endpoints.booked();
    const mrr = await endpoints.get("/v1/metrics/mrr", key);
    expect(mrr.json.data.current_mrr).to.equal(10);
    expect(mrr.json.at).to.equal(ahead);
    const today = new Date().toISOString().slice(0, 10);
    const changed = await endpoints.get(`/v1/metrics/mrr/what-changed?from=${today}`, key);
    expect(changed.json.data.difference).to.equal(10);
    const listed = await endpoints.get("/v1/transactions", key);
    expect(listed.json.data.map((row: { timestamp: string }) => row.timestamp)).to.eql([ahead]);
    const known = await endpoints.get(`/v1/metrics/mrr?known_at=${mrr.json.complete_to}`, key);
    expect(known.json.data.current_mrr).to.equal(10);
    const now = await endpoints.get(`/v1/metrics/mrr?at=${new Date().toISOString()}`, key);
    expect(now.json.data.current_mrr).to.equal(0);
  });

  it("should be refused in the live environment", async () => {
    expect(await subscribe(endpoints.key)).to.equal(422);
    const { json } = await endpoints.get(`/v1/metrics/mrr?at=${ahead}`);
    expect(json.error.code).to.equal("moment_in_future");
  });
});
