/** One event that no consumer can handle: it becomes a reject, and stops nobody else. */
import { expect } from "chai";
import { type Fact, factRecords, topics } from "../../schemas/records/records.js";
import { factKey } from "../../processors/normalize/facts.js";
import { suiteEndpoints } from "../harness/endpoints.js";
import { factOf, inClear, metaOf } from "../harness/facts.js";
import { payment, quoteOf } from "../harness/fact-bodies.js";
import { passOver } from "../../processors/rejects/pass-over.js";
import { groups } from "../../stores/watermark/watermark.js";
import { RecentOutcomes } from "../../processors/normalize/outcome.js";

/** Beyond every calendar: an assertion of booking fails on it. */
const beyondTime = 9e15;

describe("An event that a consumer fails on", function suite() {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();

  const sale = { provider: "custom", event_type: "transaction.sale", amount: 5, currency: "EUR" };

  async function rejects(): Promise<{ event_id: string; step: string; reason: string }[]> {
    return endpoints.service.clickhouse.rows(
      `SELECT event_id, step, reason FROM rejects FINAL
       WHERE workspace = {workspace:String} AND reason = 'internal_error' ORDER BY event_id`,
      { workspace: endpoints.workspace },
    );
  }

  async function append(facts: readonly Fact[]): Promise<void> {
    await endpoints.service.log.append(
      topics.facts,
      facts.map((fact) => ({ key: factKey(fact, inClear), value: factRecords.encode(fact) })),
    );
  }

  it("should be a reject of both booking groups, and all others are booked", async () => {
    const given = { workspace: endpoints.workspace, happened_at: beyondTime, provider: "custom" };
    const money = payment({ payment: "bad", at: beyondTime, amount: 1n });
    const unidentified = { pool: "p", side: "start" as const, at: beyondTime, subscription: "s" };
    const quoted = { ...given, quote: quoteOf() };
    const poison = [
      factOf(money, { ...quoted, fact_id: "bad:0", event_id: "evt_bad_money" }),
      factOf(
        { Unidentified: { ...unidentified, account: "a".repeat(32) } },
        { ...given, fact_id: "bad:1", event_id: "evt_bad_subscription" },
      ),
    ];
    await append(poison);
    const answer = await endpoints.ingest(sale, { "idempotency-key": "beside a bad one" });
    expect(answer.status, answer.text).to.equal(202);
    await endpoints.booked();
    const booked = await endpoints.service.clickhouse.rows<{ event_id: string }>(
      "SELECT event_id FROM ledger WHERE workspace = {workspace:String}",
      { workspace: endpoints.workspace },
    );
    expect(booked.map(({ event_id: id }) => id)).to.include(answer.json.event_id);
    expect(await rejects()).to.deep.equal([
      { event_id: "evt_bad_money", step: "book", reason: "internal_error" },
      { event_id: "evt_bad_subscription", step: "book", reason: "internal_error" },
    ]);
  });

  it("should be listed by its place when it cannot be listed by its name", async () => {
    const event = metaOf({ workspace: endpoints.workspace, event_id: "evt_unlisted" });
    const record = {
      topic: topics.facts,
      partition: 7,
      offset: 7n,
      key: "",
      value: Buffer.from("none"),
    };
    const { service } = endpoints;
    const passing = { ...service, recent: new RecentOutcomes() };
    await passOver(passing, groups.book, record, new Error(event.event_id));
    const [row] = await service.clickhouse.rows(
      "SELECT step, reason FROM rejects FINAL WHERE event_id = 'evt_unreadable_7_7'",
    );
    expect(row).to.deep.equal({ step: "book", reason: "internal_error" });
  });
});
