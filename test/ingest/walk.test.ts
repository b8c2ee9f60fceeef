/** One event, hop by hop: the table of docs/architecture.md as a test. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { WebSocket } from "ws";
import {
  type Topic,
  factRecords,
  rawEventCodec,
  topics,
  transactionCodec,
} from "../../schemas/records/records.js";
import { groups } from "../../stores/watermark/watermark.js";
import { chargeObject } from "../../ops/payloads/stripe-money.js";
import { eventBody, stripeEvent } from "../../ops/payloads/stripe.js";
import { readAll } from "../log/log-contract.js";
import { stripe, suiteEndpoints } from "../harness/endpoints.js";

const paidAt = Date.now() - 3_600_000;
const body = eventBody(
  stripeEvent({
    id: "evt_walk",
    type: "charge.succeeded",
    at: paidAt,
    object: chargeObject({
      id: "ch_walk",
      paymentIntent: "pi_walk",
      amount: 4_900n,
      currency: "usd",
      createdAt: paidAt,
      customer: "cus_walk",
      country: "DE",
    }),
  }),
);

describe("The way of one event", () => {
  const endpoints = suiteEndpoints();
  const live: unknown[] = [];
  let socket: WebSocket;
  let eventId = "";

  before(async () => {
    socket = new WebSocket(`${endpoints.base.replace("http", "ws")}/v1/events/stream`, {
      headers: { Authorization: `Bearer ${endpoints.readKey}` },
    });
    socket.on("message", (data: Buffer) => live.push(JSON.parse(data.toString())));
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  });
  after(() => socket.terminate());

  it("should answer a genuine call with its event id (1 endpoint)", async () => {
    const answer = await endpoints.deliver(body);
    expect(answer.status).to.equal(200);
    expect(answer.json.status).to.equal("success");
    expect(answer.json.event_id).to.match(/^evt_norm_/);
    eventId = String(answer.json.event_id);
  });

  it("should refuse a forged call before it reaches the log (1 endpoint)", async () => {
    const ends = await endpoints.service.log.ends(topics.raw);
    const { headers: forged } = stripe.sign(
      body,
      { signing_secret: "whsec_of_somebody_else" },
      Date.now(),
    );
    expect((await endpoints.deliver(body, forged)).status).to.equal(401);
    expect(await endpoints.service.log.ends(topics.raw)).to.deep.equal(ends);
  });

  it("should find the event sealed on the raw topic, none in the clear (2 durable)", async () => {
    const record = await find(
      topics.raw,
      (value) => rawEventCodec.decode(value).meta.event_id === eventId,
    );
    expect(record.includes("cus_walk")).to.equal(false);
    expect(rawEventCodec.decode(record).meta).to.include({
      workspace: endpoints.workspace,
      provider: "stripe",
      verdict: "signature",
      native_id: "evt_walk",
    });
  });

  it("should find the facts, converted and without a customer's id (3–5 normalize)", async () => {
    await booked();
    // Beside the payment it says where the customer is.
    const record = await find(topics.facts, (value) => {
      const { event_id: id, body: about } = factRecords.decode(value);
      return id === eventId && "Payment" in about;
    });
    expect(record.includes("cus_walk")).to.equal(false);
    const fact = factRecords.decode(record);
    expect(fact.quote).to.include({ currency: "USD", base_currency: "EUR" });
  });

  it("should find one transaction and one ledger entry of it (6 book)", async () => {
    const { clickhouse } = endpoints.service;
    for (const [table, amount] of [
      ["transactions", "normalized_amount"],
      ["ledger", "amount"],
    ]) {
      const rows = await clickhouse.rows<{ event_id: string; amount: string }>(
        `SELECT event_id, toString(${amount}) AS amount FROM ${table}
         WHERE workspace = {workspace:String}`,
        { workspace: endpoints.workspace },
      );
      expect(
        rows.map((row) => row.event_id),
        table,
      ).to.deep.equal([eventId]);
      expect(Number(rows[0]?.amount), table).to.be.greaterThan(0);
    }
  });

  it("should find the transaction on the public topic (7 publish)", async () => {
    const record = await find(
      topics.transactions,
      (value) => transactionCodec.decode(value).event_id === eventId,
    );
    expect(transactionCodec.decode(record)).to.include({
      workspace: endpoints.workspace,
      version: 1,
      gross_amount: 4_900n,
      original_currency: "USD",
    });
  });

  it("should have moved every group's offset to the end (8 acknowledge)", async () => {
    for (const [topic, group] of [
      [topics.raw, groups.normalize],
      [topics.facts, groups.book],
    ] as const) {
      const { log } = endpoints.service;
      expect(await log.committed(topic, group), group).to.deep.equal(await log.ends(topic));
    }
  });

  it("should list the transaction (9 answer)", async () => {
    const answer = await endpoints.get("/v1/transactions");
    const { data } = answer.json;
    expect(data).to.have.length(1);
    expect(data[0]).to.include({
      provider: "stripe",
      gross_amount: 49,
      original_currency: "USD",
      base_currency: "EUR",
      customer_country: "DE",
      status: "succeeded",
      type: "one_time",
      timestamp: new Date(Math.floor(paidAt / 1000) * 1000).toISOString(),
    });
  });

  it("should have sent it to the socket, once (10 live)", async () => {
    expect(live).to.have.length(1);
    expect(live[0]).to.include({ provider: "stripe", gross_amount: 49, version: 1 });
    expect(live[0]).to.have.property("cursor");
  });

  it("should change nothing when the same event is delivered again", async () => {
    const again = await endpoints.deliver(body);
    expect(again.status).to.equal(200);
    await booked();
    const rows = await endpoints.service.clickhouse.rows(
      "SELECT 1 FROM ledger WHERE workspace = {workspace:String}",
      { workspace: endpoints.workspace },
    );
    expect(rows).to.have.length(1);
    expect(live).to.have.length(1);
  });

  it("should list as a reject what is written to the raw topic past the endpoint", async () => {
    const record = await find(
      topics.raw,
      (value) => rawEventCodec.decode(value).meta.event_id === eventId,
    );
    const raw = rawEventCodec.decode(record);
    const changed = {
      ...raw,
      meta: { ...raw.meta, event_id: "evt_norm_forged", received_at: Date.now() },
    };
    await endpoints.service.log.append(topics.raw, [
      { key: "any", value: rawEventCodec.encode(changed) },
    ]);
    await booked();
    const { json } = await endpoints.manage("GET", `/workspaces/${endpoints.workspace}/rejects`);
    expect(json.data).to.have.length(1);
    expect(json.data[0]).to.include({ step: "open", reason: "seal_broken" });
  });

  async function find(topic: Topic, wanted: (value: Buffer) => boolean): Promise<Buffer> {
    const found = (await readAll(endpoints.service.log, topic)).find(({ value }) => wanted(value));
    if (found === undefined) throw new Error(`nothing of the kind on ${topic}`);
    return found.value;
  }

  /** Everything received until now is booked. */
  async function booked(): Promise<void> {
    await endpoints.booked();
    // The socket is behind the log by a moment.
    await pause(100);
  }
});
