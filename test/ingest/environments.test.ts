/** A test secret books nothing live, and the other way about. */
import { expect } from "chai";
import { chargeObject } from "../../ops/payloads/stripe-money.js";
import { stripeEvent } from "../../ops/payloads/stripe.js";
import type { ProviderToken } from "../../providers/provider.js";
import { suiteEndpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import { cases, providers } from "../harness/provider-cases.js";

const dayMs = 24 * 60 * 60 * 1000;
const stripe = (livemode: boolean) => ({
  id: `evt_${livemode}`,
  object: "event",
  type: "charge.succeeded",
  created: 1_700_000_000,
  livemode,
  data: { object: { id: "ch_1" } },
});
const paddle = (id: string) => ({
  event_id: id,
  event_type: "transaction.completed",
  data: { id: "txn_1" },
});
/** Its mode is no part of an event's identity, so each has an object of its own. */
const lemon = (id: string, isTest: boolean) => ({
  meta: { event_name: "order_created", test_mode: isTest },
  data: { type: "orders", id, attributes: {} },
});

const rows: [provider: ProviderToken, environment: string, body: object, isMismatch: boolean][] = [
  ["stripe", "live", stripe(false), true],
  ["stripe", "test", stripe(true), true],
  ["stripe", "live", stripe(true), false],
  ["stripe", "test", stripe(false), false],
  ["paddle", "Production", paddle("ntfsimevt_1"), true],
  ["paddle", "Test", paddle("ntfsimevt_1"), false],
  ["lemonsqueezy", "live", lemon("1", true), true],
  ["lemonsqueezy", "test", lemon("2", false), true],
  ["lemonsqueezy", "test", lemon("3", true), false],
];

describe("An event of the other environment than its integration", () => {
  const endpoints = suiteEndpoints();

  for (const [index, [token, environment, body, isMismatch]] of rows.entries()) {
    const what = `${token} ${index} in ${environment}`;
    it(`should be ${isMismatch ? "a reject" : "read where they agree"}: ${what}`, async () => {
      const id = await deliver(token, environment, body);
      // None of these bodies is whole, so that each is a reject for one reason or the other.
      await until(async () => (await reasonsOf(id)).length > 0);
      expect((await reasonsOf(id)).includes("environment_mismatch")).to.equal(isMismatch);
    });
  }

  it("should be booked a year ahead in the test environment, where test clocks run", async () => {
    const charge = (livemode: boolean) => {
      const at = Date.now() + 365 * dayMs;
      const object = chargeObject({
        id: `ch_ahead_${livemode}`,
        paymentIntent: `pi_ahead_${livemode}`,
        amount: 4_900n,
        currency: "eur",
        createdAt: at,
        customer: "cus_clock",
      });
      const id = `evt_ahead_${livemode}`;
      const event = stripeEvent({ id, type: "charge.succeeded", at, object });
      return { ...event, livemode };
    };
    const live = await deliver("stripe", "live", charge(true));
    await until(async () => (await reasonsOf(live)).length > 0);
    expect(await reasonsOf(live)).to.deep.equal(["date_out_of_range"]);
    const test = await deliver("stripe", "test", charge(false));
    const booked = () =>
      endpoints.service.clickhouse.rows(
        "SELECT 1 FROM transactions WHERE event_id = {test:String} AND environment = 'test'",
        { test },
      );
    await until(async () => (await booked()).length > 0 || (await reasonsOf(test)).length > 0);
    expect(await booked()).to.have.length(1);
  });

  /** @returns the event's id */
  async function deliver(token: ProviderToken, environment: string, body: object): Promise<string> {
    const provider = providers.get(token);
    if (provider === undefined) throw new Error(token);
    const credentials = Object(cases[token]?.current);
    const made = await endpoints.integrate(token, credentials, environment);
    const signed = provider.sign(Buffer.from(JSON.stringify(body)), credentials, Date.now());
    const answer = await endpoints.post(made.webhook_path, signed);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json.event_id;
  }

  async function reasonsOf(id: string): Promise<string[]> {
    return (await endpoints.rejects("?limit=200"))
      .filter((row: { id: string }) => row.id === id)
      .map((row: { reason: string }) => row.reason);
  }
});
