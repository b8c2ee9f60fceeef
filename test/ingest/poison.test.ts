/**
 * Events that nothing can be made of, through the endpoints: all others are booked all the same.
 */
import { expect } from "chai";
import { transactionId } from "../../schemas/ids.js";
import { topics } from "../../schemas/records/records.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";
import { cases, fixtureOf, providers } from "../harness/provider-cases.js";
import { must } from "../model/readers/json.js";

const long = "x".repeat(66_000);
const sale = { provider: "custom", event_type: "transaction.sale", amount: 5, currency: "EUR" };
let salesMade = 0;

describe("An event that nothing can be made of", function suite() {
  this.timeout(120_000);
  const endpoints = suiteEndpoints();
  const other = suiteEndpoints();

  it("should be refused at the ingest endpoint when it is too long to be kept", async () => {
    const body = { provider: "stripe", event_type: "charge.succeeded", payload: tooLongCharge() };
    expectError(await endpoints.ingest(body), "422 malformed payload");
    await expectOthersBooked();
  });

  const poisons: [title: string, deliver: () => Promise<void>][] = [
    ["a Stripe webhook whose payment_intent has 66,000 characters", tooLongByWebhook],
    ["an App Store notification with a NUL in its productId", nulInProduct],
  ];
  for (const [title, deliver] of poisons) {
    it(`should be a reject and stop nobody: ${title}`, async () => {
      const before = await rejected("malformed");
      await deliver();
      await expectOthersBooked();
      expect((await rejected("malformed")).length).to.equal(before.length + 1);
    });
  }

  it("should be booked by a replay, once what failed on it is mended", async () => {
    const { log } = endpoints.service;
    const append = log.append.bind(log);
    const event = { ...sale, amount: 7, transaction_id: "fails" };
    const transaction = transactionId(endpoints.workspace, "live", "custom", "fails");
    const broken: typeof append = async (topic, records) => {
      const isOurs =
        topic === topics.transactions && records.some((one) => one.key === transaction);
      if (isOurs) throw new Error("a mistake in booking");
      return append(topic, records);
    };
    Object.assign(log, { append: broken });
    let eventId = "";
    try {
      const answer = await endpoints.ingest(event, { "idempotency-key": "fails" });
      expect(answer.status, answer.text).to.equal(202);
      eventId = String(answer.json.event_id);
      await expectOthersBooked();
      expect(await rejected("internal_error")).to.deep.equal([eventId]);
    } finally {
      Object.assign(log, { append });
    }
    const path = `/workspaces/${endpoints.workspace}/rejects/replay`;
    const replayed = await endpoints.manage("POST", path, { ids: [eventId] });
    expect(replayed.status, replayed.text).to.equal(200);
    await endpoints.booked();
    expect(await rejected("internal_error")).to.deep.equal([]);
    const rows = await endpoints.service.clickhouse.rows(
      `SELECT toString(sum(amount)) AS sum, toString(count()) AS rows FROM ledger
       WHERE workspace = {workspace:String} AND event_id = {eventId:String}`,
      { workspace: endpoints.workspace, eventId },
    );
    expect(rows).to.deep.equal([{ sum: "700", rows: "1" }]);
  });

  function tooLongCharge(): Record<string, unknown> {
    const example = fixtureOf("stripe", "charge.succeeded.dinar.new");
    const event = JSON.parse(example.body.toString());
    event.livemode = true;
    event.data.object.payment_intent = long;
    return event;
  }

  async function tooLongByWebhook(): Promise<void> {
    const { status, text } = await endpoints.deliver(JSON.stringify(tooLongCharge()));
    expect(status, text).to.equal(200);
  }

  async function nulInProduct(): Promise<void> {
    const apple = must(providers.get("apple"), "an adapter");
    const { current, signers } = must(cases.apple, "credentials");
    const { webhook_path: webhook } = await endpoints.integrate("apple", Object(current));
    const example = fixtureOf("apple", "SUBSCRIBED.INITIAL_BUY");
    const body = JSON.parse(example.body.toString());
    body.data.signedTransactionInfo.productId = "pro\u0000";
    const signed = apple.sign(Buffer.from(JSON.stringify(body)), signers?.[0], Date.now());
    const { status, text } = await endpoints.post(webhook, signed);
    expect(status, text).to.equal(200);
  }

  async function expectOthersBooked(): Promise<void> {
    const answer = await other.ingest(sale, { "idempotency-key": `sale ${(salesMade += 1)}` });
    expect(answer.status, answer.text).to.equal(202);
    await endpoints.booked();
    const rows = await endpoints.service.clickhouse.rows(
      "SELECT 1 FROM ledger WHERE workspace = {workspace:String} AND event_id = {eventId:String}",
      { workspace: other.workspace, eventId: answer.json.event_id },
    );
    expect(rows.length).to.equal(1);
  }

  /** Ids of the events that are open rejects for this reason. */
  async function rejected(reason: string): Promise<string[]> {
    const rejects = await endpoints.rejects(`?reason=${reason}`);
    return rejects.map(({ id }: { id: string }) => id);
  }
});
