/** What reports no date of its own happened when it was received first, whenever that is booked. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { Watermark } from "../../stores/watermark/watermark.js";
import { claimOf, type IngestCall, planEvent, resume } from "../../ingest/event.js";
import { inClear } from "../harness/facts.js";
import { appendSealed } from "../../ingest/append-sealed.js";
import { createCustom } from "../../providers/custom/index.js";
import { createGumroad } from "../../providers/gumroad/index.js";
import { salePing } from "../../ops/payloads/gumroad.js";
import { readIngestEvent } from "../../providers/ingest-event.js";
import type { Decoded, DecodedFact, Provider } from "../../providers/provider.js";
import { type Answer, suiteEndpoints } from "../harness/endpoints.js";

const custom = createCustom({ toleranceSeconds: 300 });
const gumroad = createGumroad();
const providers = new Map<string, Provider>([
  ["custom", custom],
  ["gumroad", gumroad],
]);
const sale = { event_type: "transaction.sale", amount: 100, currency: "USD" };
const gumroadSale = { sale: "sale-1==", at: Date.UTC(2026, 8, 1), product: "prd==", cents: 1000n };
const refundPing = salePing("refund", { ...gumroadSale, more: { refunded: true } });

describe("An event without a date", () => {
  const firstReceivedAt = Date.parse("2026-09-30T23:59:58Z");
  const receivedAt = Date.parse("2026-10-02T12:00:00Z");
  const known = {
    kept: new Map(),
    answers: new Map(),
    nativeId: "evt",
    receivedAt,
    firstReceivedAt,
  };
  const flat = { id: "1", amount: 1, currency: "usd" };
  const payload = Object.fromEntries(new URLSearchParams(refundPing.toString()));

  const readings: readonly [title: string, read: () => readonly DecodedFact[]][] = [
    ["a custom webhook", () => factsOf(custom.decode(sale, known))],
    ["a ping of Gumroad", () => factsOf(gumroad.decode(payload, known))],
    ["form A", () => ingested({ ...sale, provider: "custom" })],
    ["form B, flat", () => ingested({ ...nameOf("custom", "transaction.sale"), payload: flat })],
    ["form B, whole", () => ingested({ ...nameOf("gumroad", "refund"), payload })],
  ];
  for (const [title, read] of readings) {
    it(`should be dated by its first receipt: ${title}`, () => {
      expect(read().map(({ happenedAt }) => happenedAt)).to.deep.equal([firstReceivedAt]);
    });
  }

  it("should leave a date as it is reported, and bound it by the newest receipt", () => {
    const occurred_at = "2026-10-02T11:00:00Z";
    const [fact] = factsOf(custom.decode({ ...sale, occurred_at }, known));
    expect(fact?.happenedAt).to.equal(Date.parse(occurred_at));
  });

  function ingested(event: unknown) {
    const read = readIngestEvent(event, providers, receivedAt, firstReceivedAt);
    if (!read.ok) throw new Error(read.message);
    return read.facts("identity");
  }
});

describe("What is booked late", () => {
  const endpoints = suiteEndpoints();

  it("should be dated by its first delivery, however often it was replayed", async () => {
    const { gumroadApi } = endpoints;
    const seller = { seller_id: "c2VsbGVy==" };
    const { webhook_path: webhook } = await endpoints.integrate("gumroad", {
      ...seller,
      access_token: gumroadApi.accessToken,
    });
    const taken = await endpoints.post(webhook, gumroad.sign(refundPing, seller, Date.now()));
    const id = String(taken.json.event_id);
    await delivered(id, 1, "rejected");
    await replay(id);
    await delivered(id, 2, "rejected");
    gumroadApi.report({ ...gumroadSale, refunded: true });
    await replay(id);
    const { deliveries, facts, ledger } = await delivered(id, 3, "booked");
    const [first, , last] = deliveries.map(({ received_at: at }: { received_at: string }) => at);
    expect(first < last).to.equal(true);
    expect(facts[0].happened_at).to.equal(first);
    expect(ledger.map(timesOf)).to.deep.equal([[first, last]]);
  });

  it("should be booked as it was answered, if taken up again after midnight", async () => {
    const { service, workspace } = endpoints;
    const access = {
      workspace,
      environment: "live" as const,
      keyId: "key",
      scope: "Full Ingress" as const,
      baseCurrency: "EUR",
    };
    const bytes = Buffer.from(JSON.stringify({ ...sale, provider: "custom", event_id: "late" }));
    const at = (time: string): IngestCall => {
      const receivedAt = Date.parse(time);
      const isMirrored = async () => false;
      return { service, providers, access, receivedAt, ownIdentity: null, isMirrored };
    };
    const first = "2026-10-14T23:59:58.000Z";
    const answered = await planEvent(at(first), bytes);
    const again = await planEvent(at("2026-10-15T00:00:02Z"), bytes);
    const reported = answered.answer.normalized;
    expect(again.answer.normalized.amount_base).to.not.equal(reported.amount_base);

    const kept: unknown = JSON.parse(JSON.stringify(claimOf(answered, []).answer));
    const resumed = resume(again, kept);
    expect(resumed.answer).to.deep.equal(answered.answer);
    expect(resumed.taken.meta.received_at).to.equal(again.taken.meta.received_at);
    // Endpoints over servers take nothing that was stamped before they opened.
    await appendSealed(
      { ...service, hashAccount: inClear, watermark: new Watermark(service.log) },
      [resumed.taken],
    );
    const { ledger } = await delivered(answered.answer.event_id, 1, "booked");
    expect(ledger.map(timesOf)).to.deep.equal([[first, "2026-10-15T00:00:02.000Z"]]);
    expect(ledger[0].amount).to.equal(reported.amount_base);
  });

  async function replay(id: string): Promise<void> {
    const path = `/workspaces/${endpoints.workspace}/rejects/replay`;
    const answer = await endpoints.manage("POST", path, { ids: [id] });
    expect(answer.json.data.replayed, answer.text).to.equal(1);
  }

  /** The event, once its newest delivery became that. */
  async function delivered(id: string, times: number, state: string): Promise<Answer["json"]> {
    for (const startedAt = Date.now(); Date.now() < startedAt + bookedWithinMs; await pause(50)) {
      const { status, json } = await endpoints.get(`/v1/events/${id}`);
      if (status !== 200 || json.data.deliveries.length < times) continue;
      if (json.data.state === "in_progress") continue;
      // Of what is received long ago, `in_progress` is not reported.
      if (state === "booked" && json.data.ledger.length === 0) continue;
      expect(json.data.state, json.data.reject?.reason).to.equal(state);
      return json.data;
    }
    throw new Error(`${id} was not ${state}`);
  }
});

const bookedWithinMs = 20_000;

function nameOf(provider: string, event_type: string) {
  return { provider, event_type };
}

function factsOf(decoded: Decoded): readonly DecodedFact[] {
  if (decoded.outcome !== "facts") throw new Error(JSON.stringify(decoded));
  return decoded.facts;
}

function timesOf(entry: { happened_at: string; recorded_at: string }) {
  return [entry.happened_at, entry.recorded_at];
}
