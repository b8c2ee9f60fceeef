/**
 * What the endpoints promise: durable before 2xx, the same call the same answer, figures at once.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { openRawEvent } from "../../stores/vault/vault.js";
import { limits } from "../../config.js";
import { type RawEvent, rawEventCodec } from "../../schemas/records/records.js";
import { eventId } from "../../schemas/ids.js";
import { readAll } from "../log/log-contract.js";
import {
  type Answer,
  expectError,
  newStripeEvent,
  suiteEndpoints,
  openEndpoints,
} from "../harness/endpoints.js";

const endpoints = suiteEndpoints();

/** The raw records with this event id, opened. */
async function rawRecords(id: string): Promise<{ raw: RawEvent; body: string }[]> {
  const { log, vault } = endpoints.service;
  const raws = (await readAll(log)).map(({ value }) => rawEventCodec.decode(value));
  return raws
    .filter(({ meta }) => meta.event_id === id)
    .map((raw) => ({ raw, body: openRawEvent(vault, raw).toString() }));
}

let idsMade = 0;
const newId = (name: string) => `${name}_${process.pid}_${(idsMade += 1)}`;

function sale(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    provider: "custom",
    event_type: "transaction.sale",
    amount: 20,
    currency: "EUR",
    ...change,
  };
}

/** All of an answer but how long it took. */
function figuresOf({ status, json }: Answer) {
  const { latency_ms: latency, ...normalized } = json.normalized;
  expect(latency).to.be.a("number").and.be.at.least(0);
  return { status, ...json, normalized };
}

describe("The webhook endpoint", () => {
  it("should seal the untouched bytes with what it knows of the call", async () => {
    const event = newStripeEvent();
    const body = JSON.stringify(event, null, 3);
    const answer = await endpoints.deliver(body);
    expect(answer.status, answer.text).to.equal(200);
    const id = eventId(endpoints.workspace, "live", "stripe", event.id);
    expect(answer.json).to.deep.equal({ status: "success", event_id: id });
    const [record] = await rawRecords(id);
    expect(record?.body).to.equal(body);
    expect(record?.raw.sealed.includes(event.id)).to.equal(false);
    expect(record?.raw.meta).to.deep.include({
      workspace: endpoints.workspace,
      environment: "live",
      form: "webhook",
      native_id: event.id,
      native_type: event.type,
      rates_edition: endpoints.service.rates.edition,
    });
  });

  it("should give a redelivery the same event id", async () => {
    const event = newStripeEvent();
    const [first, again] = [
      await endpoints.deliver(JSON.stringify(event)),
      await endpoints.deliver(JSON.stringify(event)),
    ];
    expect(again.json).to.deep.equal(first.json);
  });

  it("should keep what contradicts its integration in the integration's environment", async () => {
    const event = newStripeEvent({ livemode: false });
    const answer = await endpoints.deliver(JSON.stringify(event));
    expect(answer.json.event_id).to.equal(eventId(endpoints.workspace, "live", "stripe", event.id));
  });

  it("should let the flag decide where one URL has events of both environments", async () => {
    const body = { event: { id: "rc_sandbox", type: "TEST", environment: "SANDBOX" } };
    const authorization = "Bearer both";
    const made = await endpoints.integrate("revenuecat", { authorization }, "live");
    expect(made).to.include({ environment: "Production" });
    const answer = await endpoints.post(made.webhook_path, {
      headers: { authorization, "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(body)),
    });
    const expected = eventId(endpoints.workspace, "test", "revenuecat", "rc_sandbox");
    expect(answer.json.event_id).to.equal(expected);
  });

  it("should take JSON with a charset", async () => {
    const type = { "content-type": "Application/JSON; charset=UTF-8" };
    const answer = await endpoints.deliver(JSON.stringify(newStripeEvent()), type);
    expect(answer.status, answer.text).to.equal(200);
  });
});

describe("The ingest endpoint, form A", () => {
  it("should answer with the figures that will be booked", async () => {
    const answer = await endpoints.ingest(
      sale({ amount: 19.99, currency: "usd", occurred_at: "2024-03-05T10:00:00Z" }),
    );
    const { rate } = endpoints.service.rates.quote("USD", "EUR", Date.UTC(2024, 2, 5)) ?? {};
    expect(figuresOf(answer)).to.deep.include({ status: "success" });
    expect(answer.json.normalized).to.include({ base_currency: "EUR", fx_rate: Number(rate) });
    // 1 EUR = 1.0849 USD on 2024-03-04 (ECB): 19.99 × 0.9217439395.
    expect(answer.json.normalized.amount_base).to.equal(18.43);
    expect(answer.json.event_id).to.match(/^evt_norm_[0-9A-Za-z]+$/);
  });

  it("should mark the figure of a refund as provisional, and no other", async () => {
    const refund = await endpoints.ingest(sale({ event_type: "transaction.refund" }));
    expect(refund.json.normalized).to.include({ amount_base: 20, provisional: true });
    expect((await endpoints.ingest(sale())).json.normalized).to.not.have.property("provisional");
  });

  it("should take a sale of nothing", async () => {
    const answer = await endpoints.ingest(sale({ amount: 0 }));
    expect(answer.status).to.equal(202);
    expect(answer.json.normalized.amount_base).to.equal(0);
  });

  it("should say 422 fx_rate_missing where no rate is known", async () => {
    const before = await endpoints.taken();
    const gone = sale({ currency: "ZWL", occurred_at: "2001-01-05T00:00:00Z" });
    expectError(await endpoints.ingest(gone), "422 fx_rate_missing currency");
    expect(await endpoints.taken()).to.equal(before);
  });

  for (const [title, record] of [
    ["a churn", { event_type: "subscription.churn", subscription_id: "sub_zwl" }],
    ["a churn without an id", { event_type: "subscription.churn" }],
    ["a sale of nothing", { amount: 0 }],
    ["a start of nothing", { event_type: "subscription.new", amount: 0 }],
  ] as const) {
    it(`should need no rate for ${title}: no money moves`, async () => {
      const gone = { currency: "ZWL", occurred_at: "2001-01-05T00:00:00Z" };
      const answer = await endpoints.ingest(sale({ ...gone, ...record }));
      expect(answer.status, answer.text).to.equal(202);
      expect(answer.json.normalized).to.include({ amount_base: 0, fx_rate: 1 });
    });
  }

  it("should convert the amount of a churn where its rate is known", async () => {
    const [sold, ended] = await Promise.all(
      [{}, { event_type: "subscription.churn", subscription_id: "sub_usd" }].map((more) =>
        endpoints.ingest(sale({ currency: "USD", occurred_at: "2026-03-02T12:00:00Z", ...more })),
      ),
    );
    const { amount_base: amount, fx_rate: rate } = sold?.json.normalized ?? {};
    expect(rate).to.not.equal(1);
    expect(ended?.json.normalized).to.include({ amount_base: amount, fx_rate: rate });
  });

  it("should say how much of the limit is left", async () => {
    const { headers } = await endpoints.ingest(sale());
    expect(headers.get("ratelimit-policy")).to.equal('"key";q=2000;w=1');
    expect(headers.get("ratelimit")).to.match(/^"key";r=\d+;t=1$/);
  });
});

describe("The ingest endpoint, form B", () => {
  it("should read a flat payload in minor units", async () => {
    const answer = await endpoints.ingest({
      provider: "stripe",
      event_type: "checkout.session.completed",
      payload: {
        id: newId("evt_flat"),
        amount: 4900,
        currency: "eur",
        customer_country: "DE",
        timestamp: "2026-10-01T12:00:00Z",
      },
    });
    expect(figuresOf(answer)).to.deep.include({
      status: "success",
      normalized: { amount_base: 49, base_currency: "EUR", fx_rate: 1 },
    });
    expect(answer.status).to.equal(202);
  });

  it("should read the provider's own body as the same event its webhook reports", async () => {
    const event = newStripeEvent();
    const byWebhook = await endpoints.deliver(JSON.stringify(event));
    const direct = await endpoints.ingest({
      provider: "stripe",
      event_type: event.type,
      payload: event,
    });
    expect(direct.status, direct.text).to.equal(202);
    expect(direct.json.event_id).to.equal(byWebhook.json.event_id);
  });
});

describe("Idempotency", () => {
  const key = () => ({ "idempotency-key": newId("key") });

  it("should take what has no identity each time", async () => {
    const before = await endpoints.taken();
    const [one, two] = [await endpoints.ingest(sale()), await endpoints.ingest(sale())];
    expect(one.json.event_id).to.not.equal(two.json.event_id);
    expect(await endpoints.taken()).to.equal(before + 2n);
  });

  for (const [title, call] of [
    ["event id", () => ({ body: sale({ event_id: newId("evt") }), headers: {} })],
    ["Idempotency-Key", () => ({ body: sale(), headers: key() })],
    ["both", () => ({ body: sale({ event_id: newId("evt") }), headers: key() })],
  ] as const) {
    it(`should answer the same ${title} with the same answer, and take it once`, async () => {
      const { body, headers } = call();
      const first = await endpoints.ingest(body, headers);
      expect(first.status, first.text).to.equal(202);
      expect(first.headers.get("idempotent-replayed")).to.equal(null);
      await marked();
      const again = await endpoints.ingest(body, headers);
      expect(again.status).to.equal(202);
      expect(again.json).to.deep.equal(first.json);
      expect(again.headers.get("idempotent-replayed")).to.equal("true");
      expect(await rawRecords(first.json.event_id)).to.have.length(1);
    });

    it(`should answer the same ${title} with another body by 409`, async () => {
      const { body, headers } = call();
      expect((await endpoints.ingest(body, headers)).status).to.equal(202);
      await marked();
      const before = await endpoints.taken();
      const other = await endpoints.ingest({ ...body, amount: 21 }, headers);
      const code = "event_id" in body ? "event_id_conflict" : "idempotency_key_conflict";
      expectError(other, `409 ${code}`);
      expect(await endpoints.taken()).to.equal(before);
    });
  }

  it("should take another spelling of the same JSON for the same body", async () => {
    const headers = key();
    const spelled = ['{"b":1,"a":2.50}', '{ "a": 25e-1, "b": 1.0 }'].map((text) =>
      text.replace('"a"', '"amount"').replace(/"b": ?1(\.0)?/, '"provider":"custom"'),
    );
    const [one, two] = spelled.map(
      (text) => `${text.slice(0, -1)},"event_type":"transaction.sale","currency":"EUR"}`,
    );
    const first = await endpoints.ingest(one, headers);
    expect(first.status, first.text).to.equal(202);
    expect((await endpoints.ingest(two, headers)).json).to.deep.equal(first.json);
  });

  it("should give equal calls at the same time one answer", async () => {
    const body = sale({ event_id: newId("evt") });
    const answers = await Promise.all(Array.from({ length: 20 }, () => endpoints.ingest(body)));
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 202));
  });

  it("should keep keys of different environments apart", async () => {
    const { key: testKey } = await endpoints.newKey("Test", "Full Ingress");
    const headers = key();
    const body = sale();
    const live = await endpoints.ingest(body, headers);
    const authorization = `Bearer ${testKey}`;
    const test = await endpoints.ingest({ ...body, amount: 1 }, { ...headers, authorization });
    expect(test.status, test.text).to.equal(202);
    expect(test.json.event_id).to.not.equal(live.json.event_id);
  });

  it("should take another event under a key that is free again after its day", async () => {
    const headers = key();
    const freed = async (): Promise<void> => {
      await marked();
      await endpoints.service.postgres.query(
        "UPDATE ingest_receipts SET expires_at = now() WHERE workspace = $1 AND identity = $2",
        [endpoints.workspace, `key:${headers["idempotency-key"]}`],
      );
    };
    const body = sale();
    const first = await endpoints.ingest(body, headers);
    await freed();
    const other = await endpoints.ingest({ ...body, amount: 21 }, headers);
    expect(other.status, other.text).to.equal(202);
    // Under the id of the first it would be taken for a redelivery, and never be booked.
    expect(other.json.event_id).to.not.equal(first.json.event_id);
    await freed();
    const late = await endpoints.ingest(body, headers);
    expect(late.json.event_id).to.equal(first.json.event_id);
  });

  it("should never take one key for a line of another's batch, nor for an event id", async () => {
    const body = sale();
    const name = newId("key");
    const batch = { "content-type": "application/x-ndjson", "idempotency-key": name };
    const line = JSON.parse((await endpoints.ingest(JSON.stringify(body), batch)).text);
    const single = await endpoints.ingest(body, { "idempotency-key": `${name}:1` });
    const named = await endpoints.ingest({ ...body, event_id: `idempotency-key:${name}:1` });
    const ids = [line.event_id, single.json.event_id, named.json.event_id];
    expect(new Set(ids)).to.have.property("size", 3);
  });

  it("should append again what was claimed but never marked durable", async () => {
    const body = sale({ event_id: newId("evt") });
    const first = await endpoints.ingest(body);
    await marked();
    await forgetMark(`event:custom:${String(body.event_id)}`);
    const again = await endpoints.ingest(body);
    expect(again.json).to.deep.equal(first.json);
    await expectTakenUpAgain(first.json.event_id);
  });
});

/** Receipts are marked behind the answer; one marked later has passed all before it. */
async function marked(): Promise<void> {
  const last = sale({ event_id: newId("last") });
  await endpoints.ingest(last);
  const identity = `event:custom:${String(last.event_id)}`;
  for (let tries = 0; tries < 200; tries++) {
    const [row] = await endpoints.service.postgres.query<{ durable: boolean }>(
      "SELECT durable FROM ingest_receipts WHERE workspace = $1 AND identity = $2",
      [endpoints.workspace, identity],
    );
    if (row?.durable) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("receipts are not marked durable");
}

/** As a crash between the append and the mark, or before the append, leaves a claim. */
async function forgetMark(identity: string): Promise<void> {
  await endpoints.service.postgres.query(
    "UPDATE ingest_receipts SET durable = false WHERE workspace = $1 AND identity = $2",
    [endpoints.workspace, identity],
  );
}

/** Recorded at its own receipt, and dated by the first, as it was answered. */
async function expectTakenUpAgain(id: string): Promise<void> {
  const metas = (await rawRecords(id)).map(({ raw }) => raw.meta);
  expect(metas).to.have.length(2);
  const [first, again] = metas.sort((one, other) => one.received_at - other.received_at);
  expect(first?.first_received_at ?? null).to.equal(null);
  expect(again?.received_at).to.be.greaterThan(first?.received_at ?? Infinity);
  expect(again?.first_received_at).to.equal(first?.received_at);
}

describe("Batches", () => {
  const ndjson = { "content-type": "application/x-ndjson" };
  const lines = (...rows: (Record<string, unknown> | string)[]) =>
    rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");
  const answersOf = (answer: Answer) =>
    answer.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));

  it("should answer each line in order and take the good ones", async () => {
    const before = await endpoints.taken();
    const answer = await endpoints.ingest(
      lines(sale(), "{", sale({ amount: -1 }), sale({ currency: "JPY", amount: 100 })) +
        "\r\n\n \n",
      ndjson,
    );
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.headers.get("content-type")).to.match(/^application\/x-ndjson/);
    const reported = answersOf(answer);
    expect(reported.map(({ line, status, error }) => [line, status, error?.code])).to.deep.equal([
      [1, "success", undefined],
      [2, "error", "json_malformed"],
      [3, "error", "amount_negative"],
      [4, "success", undefined],
    ]);
    expect(reported[0].normalized.amount_base).to.equal(20);
    expect(await endpoints.taken()).to.equal(before + 2n);
  });

  it("should take so many bytes of batches at a time, and of one workspace half", async () => {
    const path = "/v1/events/ingest";
    const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, ...ndjson });
    const first = Buffer.from(lines(sale()));
    const upload = async (key: string) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      // Announces no length, so it counts as a whole batch.
      const answer = endpoints.call(path, {
        method: "POST",
        headers: headersOf(key),
        body: readable,
        duplex: "half",
      });
      await writer.write(first);
      return { writer, answer };
    };
    const half = limits.batchesPerWorkspaceBytesMax / limits.batchBytesMax;
    const whole = limits.batchesBytesMax / limits.batchBytesMax;
    const batch = (key: string) =>
      endpoints.call(path, { method: "POST", headers: headersOf(key), body: lines(sale()) });
    const untilRefused = async (key: string): Promise<Answer> => {
      const answer = await batch(key);
      return answer.status === 200 ? untilRefused(key) : answer;
    };

    const [{ key: other }, { key: third }] = [await openEndpoints(), await openEndpoints()];
    const open = await Promise.all(Array.from({ length: half }, () => upload(endpoints.key)));
    const refused = await untilRefused(endpoints.key);
    expectError(refused, "503 batches_busy");
    expect(refused.headers.get("retry-after")).to.equal("1");
    expect((await endpoints.ingest(sale())).status).to.equal(202);
    expect((await batch(other)).status).to.equal(200);
    open.push(...(await Promise.all(Array.from({ length: whole - half }, () => upload(other)))));
    expectError(await untilRefused(third), "503 batches_busy");
    await Promise.all(open.map(({ writer }) => writer.close()));
    for (const { answer } of open) expect((await answer).status).to.equal(200);
    expect((await endpoints.ingest(sale(), ndjson)).status).to.equal(200);
  });

  it("should take equal lines once and refuse other lines of the same id", async () => {
    const event = sale({ event_id: newId("evt") });
    const before = await endpoints.taken();
    const reported = answersOf(
      await endpoints.ingest(lines(event, event, { ...event, amount: 1 }, sale()), ndjson),
    );
    expect(reported.map(({ error }) => error?.code)).to.deep.equal([
      undefined,
      undefined,
      "event_id_conflict",
      undefined,
    ]);
    expect(reported[1].event_id).to.equal(reported[0].event_id);
    expect(reported[1].idempotent_replayed).to.equal(true);
    expect(await endpoints.taken()).to.equal(before + 2n);
  });

  it("should give the same batch under the same key the same answers", async () => {
    const headers = { ...ndjson, "idempotency-key": newId("batch") };
    const named = newId("evt");
    const batch = lines(sale(), sale({ event_id: named }), "{");
    const first = answersOf(await endpoints.ingest(batch, headers));
    // What is not marked yet is appended again.
    await marked();
    const again = answersOf(await endpoints.ingest(batch, headers));
    const ids = (reported: { event_id?: string }[]) => reported.map(({ event_id: id }) => id);
    expect(ids(again)).to.deep.equal(ids(first));
    expect(again[0].normalized).to.deep.equal(first[0].normalized);
    expect(first[0].event_id).to.not.equal(first[1].event_id);
    await marked();
    await forgetMark(`event:custom:${named}`);
    await endpoints.ingest(batch, headers);
    await expectTakenUpAgain(first[1].event_id);
    const other = await endpoints.ingest(`${batch}\n${JSON.stringify(sale())}`, headers);
    expectError(other, "409 idempotency_key_conflict");
  });

  it("should refuse a batch that is too long or empty, and take none of it", async () => {
    const before = await endpoints.taken();
    const long = await endpoints.ingest(`${JSON.stringify(sale())}\n`.repeat(10_001), ndjson);
    expectError(long, "422 batch_too_long");
    expectError(await endpoints.ingest("\n\n", ndjson), "422 batch_empty");
    const large = await endpoints.ingest(" ".repeat(16 * 1024 * 1024 + 1), ndjson);
    expectError(large, "413 body_too_large");
    expect(await endpoints.taken()).to.equal(before);
  });

  it("should refuse a single line over the limit of one event, and take the others", async () => {
    const reported = answersOf(
      await endpoints.ingest(
        lines(sale({ product_name: "x".repeat(1024 * 1024) }), sale()),
        ndjson,
      ),
    );
    expect(reported[0].error.code).to.equal("body_too_large");
    expect(reported[1].status).to.equal("success");
  });
});

describe("Machines ask", () => {
  it("should say that it turns, that it is ready, and how it is", async () => {
    expect((await endpoints.call("/healthz")).json).to.deep.equal({ status: "success" });
    await endpoints.deliver(JSON.stringify(newStripeEvent()));
    const metrics = await endpoints.call("/metrics");
    expect(metrics.text).to.match(
      /^revenue_webhooks_total\{provider="stripe",verdict="taken"\} [1-9]/m,
    );
    expect(metrics.text).to.include('route="/v1/webhooks/:token"');
    expect(metrics.text).to.include("revenue_log_append_duration_seconds_count");
    const prefix = endpoints.service.config.KAFKA_TOPIC_PREFIX ?? "";
    const lag = `revenue_consumer_lag_records{group="${prefix}revenue.raw.normalize"} `;
    expect(metrics.text).to.include(`\n${lag}`);
    expect(metrics.text).to.match(/^revenue_rates_age_seconds\{source="ecb"\} \d+$/m);
    expect(metrics.text).to.include("# TYPE revenue_booking_delay_seconds histogram");
    expect(metrics.text).to.not.include(endpoints.webhook);
  });

  it("should name what does not work", async () => {
    let works = false;
    endpoints.service.readiness.add("the moon", () => {
      if (!works) throw new Error("it is new");
    });
    const answer = await endpoints.call("/readyz");
    expectError(answer, "503 not_ready");
    expect(answer.json.error.message).to.include("the moon");
    works = true;
    expect((await endpoints.call("/readyz")).status).to.equal(200);
  });

  it("should ask the backends once for all who ask at the same time: anybody may", async () => {
    const { metrics, readiness } = endpoints.service;
    const asked = { readyz: 0, metrics: 0 };
    let slowMs = 200;
    readiness.add("a slow backend", async () => {
      asked.readyz += 1;
      await pause(slowMs);
    });
    metrics.gauge("asked_by_a_test", "Calls of a test", "of", async () => {
      asked.metrics += 1;
      await pause(slowMs);
      return { metrics: asked.metrics };
    });
    const paths = Array.from({ length: 20 }, () => ["/readyz", "/metrics"]).flat();
    const answers = await Promise.all(paths.map((path) => endpoints.call(path)));
    expect(answers.map(({ status }) => status)).to.deep.equal(paths.map(() => 200));
    expect(asked.readyz).to.be.within(1, 10);
    expect(asked.metrics).to.be.within(1, 10);
    slowMs = 0;
    const before = asked.readyz;
    await endpoints.call("/readyz");
    expect(asked.readyz).to.equal(before + 1);
  });
});
