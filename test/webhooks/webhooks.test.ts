/** Outgoing webhooks end to end: what is ingested comes to receivers, in order, signed. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { limits } from "../../config.js";
import { announceSilence } from "../../api/webhooks/silence.js";
import { forgetOld } from "../../api/webhooks/send.js";
import { announce, putIn } from "../../workspaces/webhooks/announce.js";
import { activeEndpoints } from "../../workspaces/webhooks/deliveries.js";
import { deliveryNews } from "../../workspaces/webhooks/endpoints.js";
import { memberOf } from "../harness/browser.js";
import { expectError, openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import { type Call, type Receiver, openReceiver } from "../harness/receiver.js";

const firstTried = "UPDATE webhook_deliveries SET first_try_at = $2 WHERE endpoint = $1";

describe("Outgoing webhooks", function suite() {
  this.timeout(20_000);
  const endpoints = suiteEndpoints();
  let path: string;
  let made = 0;

  before(() => {
    path = `${endpoints.path}/webhooks`;
  });

  interface Hook {
    readonly id: string;
    readonly receiver: Receiver;
    readonly shown: () => Promise<{ readonly [name: string]: unknown }>;
    readonly deliveries: (query?: string) => Promise<{ readonly [name: string]: unknown }[]>;
  }

  async function hook(given: object = {}): Promise<Hook> {
    made += 1;
    const receiver = await openReceiver(`receiver ${made}`);
    const wanted = { environment: "Production", events: ["transaction.recorded"] };
    const body = { url: receiver.url, ...wanted, ...given };
    const { status, text, json } = await endpoints.manage("POST", path, body);
    expect(status, text).to.equal(201);
    const { id, secret } = json.data;
    receiver.secrets = [secret];
    return {
      id,
      receiver,
      async shown() {
        const list = (await endpoints.manage("GET", `${path}?limit=200`)).json.data;
        return list.find((one: { id: string }) => one.id === id);
      },
      deliveries: async (query = "") =>
        (await endpoints.manage("GET", `${path}/${id}/deliveries${query}`)).json.data,
    };
  }

  /** Each test has events of its own: receivers of others get them, too. */
  let sold = 0;

  async function sell(customer: string, change: object = {}): Promise<string> {
    sold += 1;
    const id = `sale-${sold}`;
    await endpoints.record({
      event_id: id,
      event_type: "transaction.sale",
      occurred_at: new Date().toISOString(),
      transaction_id: id,
      customer_id: customer,
      product_id: "Atlas",
      amount: sold,
      ...change,
    });
    return id;
  }

  const amounts = (calls: readonly Call[]) => calls.map(({ data }) => data.gross_amount);

  /** What failed is tried again now, and an endpoint that failed is called. */
  async function tryNow(id: string): Promise<void> {
    const { postgres } = endpoints.service;
    const now = new Date();
    await postgres.query("UPDATE webhook_deliveries SET due_at = $2 WHERE endpoint = $1", [
      id,
      now,
    ]);
    await postgres.query("UPDATE webhook_endpoints SET wait_until = NULL WHERE id = $1", [id]);
    deliveryNews.announce();
  }

  it("should send transactions and their later versions as the interface shows them", async () => {
    const events = ["transaction.recorded", "transaction.updated", "mrr.movement"];
    const { receiver, id } = await hook({ events });
    await endpoints.ingest({
      provider: "custom",
      event_id: "subscribed",
      event_type: "subscription.new",
      occurred_at: new Date().toISOString(),
      subscription_id: "sub",
      transaction_id: "first",
      customer_id: "ann",
      interval: "month",
      product_id: "Atlas",
      amount: 20,
      currency: "EUR",
    });
    await until(() => receiver.taken.length >= 2);
    await endpoints.ingest({
      provider: "custom",
      event_id: "refunded",
      event_type: "transaction.refund",
      occurred_at: new Date().toISOString(),
      transaction_id: "first",
      customer_id: "ann",
      amount: 5,
      currency: "EUR",
    });
    await until(() => receiver.taken.length >= 3);
    const { taken } = receiver;
    expect(taken.map(({ verifiedBy }) => verifiedBy)).to.deep.equal([[true], [true], [true]]);
    const types = taken.map(({ type }) => type).sort();
    expect(types).to.deep.equal(["mrr.movement", "transaction.recorded", "transaction.updated"]);
    const [movement, recorded, updated] = types.map((type) =>
      taken.find((call) => call.type === type),
    );
    await endpoints.booked();
    const listed = (await endpoints.get("/v1/transactions")).json.data[0];
    const { event_id: _id, ...sent } = updated?.data ?? {};
    const { customer: _none, ...shown } = listed;
    expect(sent).to.deep.equal(shown);
    expect(recorded?.data).to.include({ id: listed.id, refunded_amount: 0 });
    const { customer: _nobody, ...recordedMovement } = (await endpoints.get("/v1/mrr-movements"))
      .json.data[0];
    expect(movement?.data).to.deep.equal(recordedMovement);
    const outer = JSON.parse(recorded?.body ?? "");
    expect(outer).to.include({ workspace: endpoints.workspace, environment: "Production" });
    await endpoints.manage("DELETE", `${path}/${id}`);
  });

  it("should send what an endpoint wants and nothing from before it was there", async () => {
    await sell("early");
    await endpoints.booked();
    const all = await hook();
    const test = await hook({ environment: "Test" });
    const others = await hook({ events: ["mrr.movement", "reject.opened"] });
    const euro = await hook({ filters: { currency: "EUR", product: "-other" } });
    const dollar = await hook({ filters: { currency: "-EUR" } });
    const apple = await hook({ filters: { provider: "apple" } });
    await sell("late", { amount: 71 });
    await until(() => all.receiver.taken.length > 0 && euro.receiver.taken.length > 0);
    expect(amounts(all.receiver.taken)).to.deep.equal([71]);
    // They are made deliveries in one transaction.
    for (const { deliveries } of [test, others, dollar, apple]) {
      expect(await deliveries()).to.deep.equal([]);
    }
  });

  it("should keep the order of accounts over failures, and be slow for nobody else", async () => {
    const [one, slow, quick] = [await hook(), await hook(), await hook()];
    let refusals = 2;
    one.receiver.answer = ({ data }, response) => {
      const isRefused = data.gross_amount === 101 && (refusals -= 1) >= 0;
      response.writeHead(isRefused ? 500 : 200).end();
    };
    slow.receiver.answer = () => undefined;
    const base = { ann: [101, 102, 103], ben: [201, 202] };
    for (const [customer, sums] of Object.entries(base)) {
      for (const amount of sums) await sell(customer, { amount });
    }
    const ofAnn = (calls: readonly Call[]) => amounts(calls).filter((sum) => sum < 200);
    await until(() => quick.receiver.taken.length === 5);
    expect(ofAnn(quick.receiver.taken)).to.deep.equal([101, 102, 103]);
    expect(slow.receiver.taken).to.deep.equal([]);
    const isDone = () => one.receiver.taken.length === 5;
    for (;;) {
      await until(async () => isDone() || (await one.shown())["next_try_at"] !== null);
      if (isDone()) break;
      await tryNow(one.id);
    }
    expect(ofAnn(one.receiver.taken)).to.deep.equal([101, 102, 103]);
    const tries = one.receiver.calls.filter(({ data }) => data.gross_amount === 101);
    expect(tries).to.have.length(3);
    expect(new Set(tries.map(({ id }) => id))).to.have.property("size", 1);
    expect(new Set(one.receiver.taken.map(({ id }) => id))).to.have.property("size", 5);
    await endpoints.manage("DELETE", `${path}/${slow.id}`);
  });

  it("should let no slow account of an endpoint hold up the others", async () => {
    const { receiver, id, deliveries } = await hook();
    const held: (() => void)[] = [];
    receiver.answer = async ({ data }, response) => {
      if (data.gross_amount < 400) await new Promise<void>((resolve) => held.push(resolve));
      response.writeHead(204).end();
    };
    for (const amount of [301, 302, 303]) await sell("slow", { amount });
    await until(async () => held.length === 1 && (await deliveries()).length === 3);
    held[0]?.();
    await until(() => held.length === 2);
    await sell("quick", { amount: 401 });
    await until(async () => (await deliveries()).length === 4);
    await pause(limits.webhookBatchMs);
    held[1]?.();
    await until(() => amounts(receiver.taken).includes(401));
    await until(() => held.length === 3);
    held[2]?.();
    await until(() => receiver.taken.length === 4);
    expect(amounts(receiver.taken)).to.deep.equal([301, 302, 401, 303]);
    await endpoints.manage("DELETE", `${path}/${id}`);
  });

  it("should say how each delivery went, and when it is tried next", async () => {
    const { receiver, deliveries, shown, id } = await hook();
    receiver.answer = (_call, response) => void response.writeHead(503).end();
    await sell("carl", { amount: 301 });
    await until(async () => (await shown())["problem"] !== null);
    const [failed] = await deliveries("?state=pending");
    expect(failed).to.include({ attempts: 1, response_status: 503, problem: "It answered 503." });
    expect(Date.parse(String(failed?.["next_try_at"]))).to.be.greaterThan(Date.now());
    expect(await shown()).to.include({ pending: 1, problem: "It answered 503." });
    receiver.answer = null;
    await tryNow(id);
    await until(async () => (await deliveries("?state=delivered")).length === 1);
    expect((await deliveries())[0]).to.include({
      attempts: 2,
      response_status: 204,
      problem: null,
      next_try_at: null,
    });
    expect(await shown()).to.include({ pending: 0, problem: null, failing_since: null });
  });

  it("should disable what took nothing for 3 days, say so, and go on when enabled", async () => {
    const { mailServer, service } = endpoints;
    const { postgres } = service;
    const email = "owner-of-hooks@example.com";
    await memberOf(endpoints, "owner", email);
    const { receiver, deliveries, shown, id } = await hook();
    receiver.answer = (_call, response) => void response.writeHead(500).end();
    await sell("dora", { amount: 401 });
    await until(async () => (await shown())["problem"] !== null);
    const since = new Date(Date.now() - limits.webhookRetriesForMs);
    const update = "UPDATE webhook_endpoints SET failing_since = $2 WHERE id = $1";
    await postgres.query(update, [id, since]);
    await postgres.query(firstTried, [id, since]);
    await tryNow(id);
    await until(async () => (await shown())["disabled_at"] !== null);
    expect(await shown()).to.include({ disabled_by: "failing", pending: 1 });
    const activity = (await endpoints.manage("GET", `${endpoints.path}/activity`)).json.data;
    expect(activity[0]).to.include({ actor: "webhooks", action: "webhook.disabled", object: id });
    await until(() => mailServer.mails.some(({ to }) => to.includes(email)));
    const attention = (await endpoints.manage("GET", `${endpoints.path}/attention`)).json.data;
    expect(attention.webhooks).to.deep.include.members([
      { ...attention.webhooks[0], id, disabled_by: "failing" },
    ]);
    const calls = receiver.calls.length;
    await sell("dora", { amount: 402 });
    await endpoints.booked();
    expectError(await endpoints.manage("POST", `${path}/${id}/test`), "409 webhook_disabled");
    receiver.answer = null;
    await endpoints.manage("PATCH", `${path}/${id}`, { enabled: true });
    await until(() => receiver.taken.length > 0);
    expect(amounts(receiver.taken)).to.deep.equal([401]);
    expect(receiver.calls).to.have.length(calls + 1);
    expect(await deliveries()).to.have.length(1);
  });

  it("should give up one delivery after three days where others are taken", async () => {
    const { receiver, deliveries, shown, id } = await hook();
    receiver.answer = ({ data }, response) =>
      void response.writeHead(data.gross_amount === 501 ? 500 : 200).end();
    await sell("emil", { amount: 501 });
    await until(async () => (await shown())["problem"] !== null);
    const since = new Date(Date.now() - limits.webhookRetriesForMs);
    const { postgres } = endpoints.service;
    await postgres.query(firstTried, [id, since]);
    await sell("fred", { amount: 502 });
    await tryNow(id);
    await until(async () => (await deliveries("?state=failed")).length === 1);
    await tryNow(id);
    await until(() => receiver.taken.length === 1);
    expect(amounts(receiver.taken)).to.deep.equal([502]);
    expect((await shown())["disabled_at"]).to.equal(null);
  });

  it("should end with 410, and never follow a redirect", async () => {
    const { receiver, shown, id } = await hook();
    receiver.answer = (_call, response) =>
      void response.writeHead(302, { location: receiver.url }).end();
    await sell("gina", { amount: 601 });
    await until(async () => (await shown())["problem"] !== null);
    expect((await shown())["problem"]).to.equal("It answered 302; redirects are not followed.");
    expect(receiver.calls).to.have.length(1);
    receiver.answer = (_call, response) => void response.writeHead(410).end();
    await tryNow(id);
    await until(async () => (await shown())["disabled_by"] === "gone");
  });

  it("should replay one delivery, failed ones, or all since a time", async () => {
    const { receiver, deliveries, id } = await hook();
    const since = new Date().toISOString();
    await sell("hugo", { amount: 701 });
    await sell("ida", { amount: 702 });
    await until(() => receiver.taken.length === 2);
    await until(async () => (await deliveries("?state=delivered")).length === 2);
    const [last] = await deliveries("?limit=1");
    const one = await endpoints.manage(
      "POST",
      `${path}/${id}/deliveries/${String(last?.["id"])}/replay`,
    );
    expect(one.json.data).to.include({ id: last?.["id"], message: last?.["message"] });
    await until(() => receiver.taken.length === 3);
    await until(async () => (await deliveries("?state=delivered")).length === 2);
    const replay = (state: string) =>
      endpoints.manage("POST", `${path}/${id}/deliveries/replay`, { since, state });
    expect((await replay("failed")).json.data).to.deep.equal({ replayed: 0, next_since: null });
    expect((await replay("all")).json.data).to.deep.equal({ replayed: 2, next_since: null });
    await until(() => receiver.taken.length === 5);
    expect(new Set(receiver.taken.map(({ id: message }) => message))).to.have.property("size", 2);
    const unknown = `${path}/${id}/deliveries/whd_none/replay`;
    expectError(await endpoints.manage("POST", unknown), "404 delivery_unknown");
  });

  it("should sign by both secrets while a new one is introduced", async () => {
    const { receiver, id } = await hook();
    const roll = async (old: string) => {
      const body = { old_valid_for: old };
      const { json } = await endpoints.manage("POST", `${path}/${id}/secret`, body);
      receiver.secrets = [...receiver.secrets, json.data.secret];
    };
    const test = async () => {
      const before = receiver.taken.length;
      const { json } = await endpoints.manage("POST", `${path}/${id}/test`);
      await until(() => receiver.taken.length > before);
      const call = receiver.taken.at(-1);
      expect(call).to.include({ type: "webhook.test", id: json.data.message });
      return call;
    };
    await roll("24h");
    expect(await test()).to.deep.include({ signatures: 2, verifiedBy: [true, true] });
    await roll("none");
    expect(await test()).to.deep.include({ signatures: 1, verifiedBy: [false, false, true] });
  });

  it("should send what is announced, once", async () => {
    const events = ["alert.fired", "reject.opened"];
    const { receiver, deliveries } = await hook({ events });
    const data = {
      alert: "alr_1",
      title: "MRR below €10,000.00",
      sentence: "MRR is €9,000.00, below €10,000.00.",
      value: 9_000,
      fired_at: "2026-11-28T00:00:00.000Z",
      link: "https://revenue.example.com/overview",
    };
    const fired = {
      workspace: endpoints.workspace,
      environment: "live",
      type: "alert.fired",
      id: "alr_1 2026-11-28",
      subject: {},
      at: new Date(),
      data,
    } as const;
    await announce(endpoints.service, fired);
    await announce(endpoints.service, fired);
    await endpoints.deliver("{}");
    await until(() => receiver.taken.length >= 1);
    expect(receiver.taken.map(({ type }) => type)).to.include("alert.fired");
    expect(receiver.taken[0]?.data).to.deep.equal(data);
    const sent = (await deliveries()).filter(({ type }) => type === "alert.fired");
    expect(sent).to.have.length(1);
  });

  it("should tell of an integration that fell silent, once", async () => {
    const { service } = endpoints;
    const { receiver, deliveries } = await hook({ events: ["integration.silent"] });
    const { id: integration } = await endpoints.integrate("stripe", {
      signing_secret: "whsec_of_a_silent_account",
    });
    const lastAt = new Date(Date.now() - limits.integrationQuietMs - 1_000);
    await service.postgres.query(
      `INSERT INTO integration_calls (integration, verdict, calls, last_at)
       VALUES ($1, 'taken', 1, $2)`,
      [integration, lastAt],
    );
    await announceSilence(service, Date.now());
    await announceSilence(service, Date.now() + 1);
    await until(() => receiver.taken.some(({ data }) => data.integration === integration));
    const { data } = receiver.taken.find((call) => call.data.integration === integration) ?? {};
    expect(data).to.include({ provider: "stripe", state: "quiet", since: lastAt.toISOString() });
    const payloads = (await deliveries()).map(({ payload }) => JSON.parse(String(payload)));
    const ofIt = payloads.filter((payload) => payload.data.integration === integration);
    expect(ofIt).to.have.length(1);
  });

  /** Deliveries that are not due, each made a second before the one before. */
  const waiting = `INSERT INTO webhook_deliveries
      (id, endpoint, message, type, lane, seq, body, state, due_at, created_at)
    SELECT $1 || ' ' || n, $1, 'message ' || n, 'test', 'lane', n, '{}', 'pending',
      now() + interval '1 day', $2::timestamptz - n * interval '1 second'
    FROM generate_series(1, $3::int) AS n`;

  it("should forget deliveries after 30 days, however many there are", async () => {
    const { postgres } = endpoints.service;
    const { id } = await hook();
    const now = Date.now();
    const thirtyDays = 30 * 24 * 60 * 60 * 1000;
    // Of 1,510 the last 1,500 are too old: more than are removed at a time.
    await postgres.query(waiting, [id, new Date(now - thirtyDays + 10_500), 1_510]);
    await forgetOld(postgres, now);
    const left = await postgres.query<{ message: string }>(
      "SELECT message FROM webhook_deliveries WHERE endpoint = $1 ORDER BY seq",
      [id],
    );
    const kept = Array.from({ length: 10 }, (_, index) => `message ${index + 1}`);
    expect(left.map(({ message }) => message)).to.deep.equal(kept);
  });

  it("should disable an endpoint for which too many deliveries wait, and keep them", async () => {
    const { service, workspace } = endpoints;
    const { id, shown } = await hook();
    const pendingMax = 5;
    await service.postgres.query(waiting, [id, new Date(), pendingMax - 1]);
    const add = async (message: string) => {
      const one = { endpoint: id, message, type: "test", lane: "lane", body: "{}" };
      const to = await activeEndpoints(service.postgres, [workspace]);
      await putIn(service, to, [one], pendingMax);
    };
    await add("the last there is room for");
    expect(await shown()).to.include({ disabled_at: null, pending: pendingMax });
    await add("one more");
    expect(await shown()).to.include({ disabled_by: "too_many", pending: pendingMax + 1 });
    const activity = (await endpoints.manage("GET", `${endpoints.path}/activity`)).json.data;
    expect(activity[0]).to.include({ actor: "webhooks", action: "webhook.disabled", object: id });
    await service.postgres.query("DELETE FROM webhook_deliveries WHERE endpoint = $1", [id]);
  });

  it("should refuse addresses and filters that mean nothing, and others' endpoints", async () => {
    const given = {
      environment: "Production",
      events: ["mrr.movement"],
      url: "https://a.example/",
    };
    const create = (change: object) => endpoints.manage("POST", path, { ...given, ...change });
    expectError(await create({ url: "http://169.254.169.254/" }), "422 url_not_allowed url");
    expectError(await create({ url: "ftp://a.example/" }), "422 url_not_allowed url");
    expectError(await create({ events: [] }), "422 field_invalid events");
    expectError(await create({ filters: { currency: "euro" } }), "422 field_invalid");
    expectError(await create({ filters: { plan: "x" } }), "422 field_unknown");
    const { id } = await hook();
    const other = await openEndpoints({ hasStripe: false });
    const others = `${other.path}/webhooks/${id}`;
    expectError(await other.manage("DELETE", others), "404 webhook_unknown");
    expectError(await other.manage("GET", `${others}/deliveries`), "404 webhook_unknown");
  });
});
