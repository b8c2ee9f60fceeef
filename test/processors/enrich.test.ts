/** What events leave out is asked of the provider's API, and holds up nothing else. */
import { setTimeout as pause } from "node:timers/promises";
import { basename } from "node:path";
import { expect } from "chai";
import { factRecords, rawEventCodec, topics } from "../../schemas/records/records.js";
import { changeIntegration } from "../../workspaces/integration-records.js";
import { LogUnavailable } from "../../stores/log/log.js";
import { openProviderApis } from "../../providers/api/provider-api.js";
import { enrichOptional } from "../../processors/enrich/enrich-optional.js";
import { asks, decode } from "../../providers/stripe/decode.js";
import { paths } from "../../providers/stripe/answers.js";
import {
  discountObject,
  eventBody,
  type JsonObject,
  priceObject,
  productObject,
  stripeEvent,
  subscriptionObject,
} from "../../ops/payloads/stripe.js";
import { chargeObject, invoiceObject } from "../../ops/payloads/stripe-money.js";
import { stripe, suiteEndpoints, openEndpoints, type Endpoints } from "../harness/endpoints.js";
import { enrichingOver, incompleteOf, passCredentialsSeen } from "../harness/enriching.js";
import { rejection, until } from "../harness/promises.js";
import { apiKey, send, type StripeApi } from "../apis/stripe-api.js";
import { readRaw } from "../../processors/normalize/read-raw.js";
import { metaOf } from "../harness/facts.js";

const at = Date.UTC(2026, 5, 1, 9);
const none = new Map<string, unknown>();

function reported(id: string, type: string, object: JsonObject): JsonObject {
  return stripeEvent({ id: `evt_enrich_${id}`, type, at, object });
}

function charge(id: string): JsonObject {
  const object = chargeObject({
    id: `ch_${id}`,
    paymentIntent: `pi_${id}`,
    customer: "cus_1",
    amount: 10_000n,
    currency: "eur",
    createdAt: at,
  });
  return reported(`charge_${id}`, "charge.succeeded", object);
}

function subscription(id: string, more: { discounts?: string[]; tiers?: boolean } = {}) {
  const { discounts = [], tiers = false } = more;
  const object = subscriptionObject({
    id: `sub_${id}`,
    customer: `cus_${id}`,
    currency: "eur",
    status: "active",
    createdAt: at,
    discounts,
    items: [
      {
        id: `si_${id}`,
        quantity: 1,
        price: priceObject({
          id: `price_${id}`,
          product: `prod_${id}`,
          currency: "eur",
          unitAmount: tiers ? null : 2000n,
          ...(tiers ? { tiersMode: "volume" as const } : {}),
        }),
      },
    ],
  });
  return reported(`sub_${id}`, "customer.subscription.created", object);
}

function invoice(id: string, linesShown: number): JsonObject {
  const object = invoiceObject({
    id: `in_${id}`,
    customer: "cus_1",
    currency: "eur",
    createdAt: at,
    paidAt: at,
    hasMoreLines: true,
    total: 3_000n,
    lines: lines(id).slice(0, linesShown),
  });
  return reported(`invoice_${id}`, "invoice.paid", object);
}

function lines(id: string) {
  return [1000n, 1500n, 500n].map((amount, place) => ({
    id: `il_${id}_${place}`,
    product: `prod_${id}_${place}`,
    price: `price_${id}_${place}`,
    amount,
  }));
}

function pageOf(data: JsonObject[], hasMore = false): JsonObject {
  return { object: "list", data, has_more: hasMore };
}

/** Lines as the API shows them: an invoice's own. */
function linePage(id: string, from: number, to: number, hasMore: boolean): JsonObject {
  const whole = invoiceObject({
    id: `in_${id}`,
    customer: "cus_1",
    currency: "eur",
    createdAt: at,
    paidAt: at,
    lines: lines(id).slice(from, to),
  });
  const { data } = Object(whole.lines);
  return pageOf(data, hasMore);
}

const half = discountObject({ id: "di_half", percentOff: 50, duration: "forever", startAt: at });
const byCouponId: JsonObject = { ...half, source: { type: "coupon", coupon: "HALF" } };
const coupon: JsonObject = { id: "HALF", object: "coupon", duration: "forever", percent_off: 50 };

const linesPath = paths.invoiceLines("in_cut", null);
const nextLinesPath = paths.invoiceLines("in_cut", "il_cut_1");
const discountsPath = paths.subscriptionDiscounts("sub_off");
const answeredDiscount = { id: "sub_off", discounts: [byCouponId], items: { data: [] } };

describe("What Stripe is asked", () => {
  const rows: [string, JsonObject, Record<string, unknown>, string[]][] = [
    ["a charge's fee", charge("fee"), {}, ["optional /v1/balance_transactions/txn_ch_fee"]],
    ["a name", subscription("name"), {}, ["optional /v1/products/prod_name"]],
    [
      "tiers",
      subscription("tiered", { tiers: true }),
      {},
      ["required /v1/prices/price_tiered?expand[]=tiers", "optional /v1/products/prod_tiered"],
    ],
    [
      "a discount",
      subscription("off", { discounts: ["di_half"] }),
      {},
      [`required ${discountsPath}`, "optional /v1/products/prod_off"],
    ],
    [
      "then its coupon",
      subscription("off", { discounts: ["di_half"] }),
      { [discountsPath]: answeredDiscount },
      [`required ${paths.coupon("HALF")}`, "optional /v1/products/prod_off"],
    ],
    [
      "nothing more of a discount that is gone",
      subscription("off", { discounts: ["di_half"] }),
      { [discountsPath]: { id: "sub_off", discounts: [], items: { data: [] } } },
      [`required ${discountsPath}`, "optional /v1/products/prod_off"],
    ],
    ["an invoice's lines", invoice("cut", 0), {}, [`required ${linesPath}`]],
    [
      "and their next page",
      invoice("cut", 0),
      { [linesPath]: linePage("cut", 0, 2, true) },
      [`required ${nextLinesPath}`],
    ],
    [
      "and nothing after the last",
      invoice("cut", 0),
      {
        [linesPath]: linePage("cut", 0, 2, true),
        [nextLinesPath]: linePage("cut", 2, 3, false),
      },
      [],
    ],
    [
      "a connected account's fee of that account",
      { ...charge("fee"), account: "acct_1" },
      {},
      ["optional /v1/balance_transactions/txn_ch_fee acct_1"],
    ],
    [
      "nothing of what it does not read",
      reported("x", "payment_intent.created", { id: "pi" }),
      {},
      [],
    ],
  ];
  for (const [title, event, answers, expected] of rows) {
    it(`should be ${title}`, () => {
      const questions = asks(event, { kept: none, answers: new Map(Object.entries(answers)) });
      const asked = questions.map(({ importance, path, headers }) =>
        [importance, path, ...Object.values(headers ?? {})].join(" "),
      );
      expect(asked).to.deep.equal(expected);
    });
  }

  const fees: [string, JsonObject, bigint][] = [
    ["in the payment's currency", { amount: 10_000, fee: 320, currency: "eur" }, 320n],
    ["in another as its part", { amount: 10_810, fee: 346, currency: "usd" }, 320n],
    ["in yen, rounded to the cent", { amount: 16_000, fee: 511, currency: "jpy" }, 319n],
  ];
  for (const [title, balance, expected] of fees) {
    it(`should read a fee ${title}`, () => {
      const path = paths.balanceTransaction("txn_ch_fee");
      const decoded = decode(charge("fee"), { kept: none, answers: new Map([[path, balance]]) });
      const [fact] = decoded.outcome === "facts" ? decoded.facts : [];
      expect(fact?.body).to.have.nested.property("Payment.fee", expected);
    });
  }
});

describe("Events that ask", function suite() {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();
  let api: StripeApi;
  let webhook: string;
  let integration: string;
  const secret = "whsec_of_enrichment";

  before(async () => {
    api = endpoints.stripeApi;
    const credentials = { signing_secret: secret, api_key: apiKey };
    const made = await endpoints.integrate("stripe", credentials);
    webhook = made.webhook_path;
    integration = `${endpoints.path}/integrations/${made.id}`;
  });

  afterEach(() => {
    api.misbehave = null;
  });

  it("should book a charge at once, and its fee when it is answered", async () => {
    const answer = holdBack("txn_ch_enriched", {
      id: "txn",
      amount: 10_000,
      fee: 320,
      currency: "eur",
    });
    await deliver(charge("enriched"));
    await until(async () => (await transaction())?.gross_amount === 100);
    expect(await transaction()).to.include({ fee_amount: null, version: 1 });
    // Optional enrichment delays no figure.
    const booked = new Date().toISOString();
    await until(async () => (await completeTo()) > booked);
    const before = await completeTo();
    await until(() => api.calls.some((path) => path.includes("txn_ch_enriched")));
    answer();
    await until(async () => (await transaction())?.fee_amount === 3.2);
    expect(await transaction()).to.include({ gross_amount: 100, version: 2 });
    // What was reported as known then stays as it was.
    expect(await transaction(`?known_at=${encodeURIComponent(before)}`)).to.include({ version: 1 });
  });

  it("should receive an answer anew that could not be handed on", async () => {
    const { service } = endpoints;
    api.objects.set("/v1/balance_transactions/txn_ch_later", {
      id: "txn_ch_later",
      amount: 10_000,
      fee: 320,
      currency: "eur",
    });
    const record = await incompleteRecord(charge("later"), "enrich");
    const received: number[] = [];
    let isAway = true;
    const append = (_topic: string, records: readonly { value: Buffer }[]) => {
      if (isAway) return Promise.reject(new LogUnavailable("away"));
      for (const { value } of records) received.push(factRecords.decode(value).received_at);
      return Promise.resolve([]);
    };
    const enriching = await enrichingOver(service, { log: { ...service.log, append } });
    expect(await rejection(enrichOptional(enriching, [record]))).to.be.instanceOf(LogUnavailable);
    const failedAt = Date.now();
    await until(async () => Date.parse(await completeTo()) > failedAt);
    const complete = Date.parse(await completeTo());
    isAway = false;
    await enrichOptional(enriching, [record]);
    expect(received).to.have.length(1);
    expect(received[0]).to.be.above(complete);
    // The same again, as a replay of the log reports it: as it was received.
    await enrichOptional(enriching, [record]);
    expect(received[1]).to.equal(received[0]);
  });

  it("should read in a replay what was answered, though its integration is gone", async () => {
    const { key, value } = await rawRecordOf("evt_enrich_charge_enriched");
    const record = { topic: topics.raw, partition: 0, offset: 0n, key, value };
    const nobody = () => Promise.resolve(null);
    const integrations = { byId: nobody, byToken: nobody, forget: () => {} };
    const outcome = await readRaw(await enrichingOver(endpoints.service, { integrations }), record);
    expect(outcome).to.include({ kind: "facts", asksOptional: true });
  });

  it("should keep nothing of what may ask nobody", async () => {
    const { service } = endpoints;
    const record = await incompleteRecord(charge("mute"), "enrich");
    const apis = openProviderApis(service.config);
    const enriching = await enrichingOver(service, {
      log: { ...service.log, append: () => Promise.reject(new Error("nothing to report")) },
      apis: { ...apis, ask: () => Promise.resolve({ outcome: "silent" }) },
    });
    await enrichOptional(enriching, [record]);
    const kept = await service.postgres.query("SELECT 1 FROM kept_answers WHERE event_id = $1", [
      record.key,
    ]);
    expect(kept).to.deep.equal([]);
  });

  it("should name a product that no event names", async () => {
    api.objects.set(
      "/v1/products/prod_named",
      productObject({ id: "prod_named", name: "Named by the API", createdAt: at }),
    );
    const before = await mrr();
    await deliver(subscription("named"));
    await until(async () => (await productNames()).includes("Named by the API"));
    // Names and movements are booked apart; what comes next counts from here.
    await until(async () => (await mrr()) === before + 20);
  });

  it("should price a subscription by the discount it only names", async () => {
    answerDiscount("sub_half");
    api.objects.set("/v1/coupons/HALF", coupon);
    const before = await mrr();
    await deliver(subscription("half", { discounts: ["di_half"] }));
    await until(async () => (await mrr()) === before + 10);
    expect(await outcomesOf("evt_enrich_sub_half")).to.deep.equal(["facts"]);
  });

  it("should call no figure complete before an event that asks is answered", async () => {
    const answer = holdBack("sub_slow");
    const { readKey: otherKey } = await openEndpoints();
    const before = await mrr();
    await deliver(subscription("slow", { discounts: ["di_half"] }));
    const taken = new Date().toISOString();
    await until(() => api.calls.some((path) => path.includes("sub_slow")));
    await deliver(subscription("swift"));
    await until(async () => (await mrr()) === before + 20);
    expect((await completeTo("/v1/metrics/mrr")) < taken).to.equal(true);
    // Who has nothing to do with that API does not wait for it.
    const { json } = await read("/v1/transactions", otherKey);
    expect(json.complete_to > taken, json.complete_to).to.equal(true);
    answer();
    await until(async () => (await completeTo("/v1/metrics/mrr")) > taken);
    expect(await mrr()).to.equal(before + 30);
  });

  it("should ask for others while one gets no answer", async () => {
    answerDiscount("sub_behind");
    const answer = holdBack("sub_stuck");
    const before = await mrr();
    await deliver(subscription("stuck", { discounts: ["di_half"] }));
    await until(() => api.calls.some((path) => path.includes("sub_stuck")));
    await deliver(subscription("behind", { discounts: ["di_half"] }));
    await until(async () => (await mrr()) === before + 10);
    expect(await outcomesOf("evt_enrich_sub_stuck")).to.deep.equal([]);
    answer();
    await until(async () => (await mrr()) === before + 20);
  });

  it("should publish what is answered before the others of its batch", async () => {
    answerDiscount("sub_first");
    const answer = holdBack("sub_last");
    const before = await mrr();
    const events = ["last", "first"].map((id) => subscription(id, { discounts: ["di_half"] }));
    const records = await Promise.all(events.map((event) => incompleteRecord(event, "complete")));
    await endpoints.service.log.append(topics.incomplete, records);
    await until(async () => (await mrr()) === before + 10);
    answer();
    await until(async () => (await mrr()) === before + 20);
  });

  it("should book a repeated event by its first receipt, whichever is answered first", async () => {
    const { clickhouse, log } = endpoints.service;
    let answerFirst = (): void => {};
    let calls = 0;
    api.misbehave = (request, response) => {
      if (request.url?.includes("sub_twice") !== true) return false;
      const answer = () => send(response, 200, { ...answeredDiscount, id: "sub_twice" });
      if ((calls += 1) === 1) answerFirst = answer;
      else answer();
      return true;
    };
    const before = await mrr();
    const event = subscription("twice", { discounts: ["di_half"] });
    const first = Date.now() - 1_000;
    const records = await Promise.all(
      [first, first + 500].map((receivedAt) => incompleteRecord(event, "complete", receivedAt)),
    );
    await log.append(topics.incomplete, records);
    await until(() => calls > 0);
    // Enough for the repeat, if it did not wait.
    await pause(300);
    answerFirst();
    await until(async () => (await mrr()) === before + 10);
    const changes = await clickhouse.rows<{ ms: string }>(
      `SELECT toUnixTimestamp64Milli(recorded_at) AS ms FROM subscription_changes
       WHERE subscription = 'sub_twice'`,
    );
    expect(changes.map(({ ms }) => Number(ms))).to.deep.equal([first]);
  });

  it("should read the same again without asking, in a replay of the topic", async () => {
    const record = await rawRecordOf("evt_enrich_sub_half");
    const calls = api.calls.length;
    const before = await mrr();
    await endpoints.service.log.append(topics.raw, [record]);
    await until(async () => (await outcomesOf("evt_enrich_sub_half")).length === 2);
    expect(await outcomesOf("evt_enrich_sub_half")).to.deep.equal(["facts", "facts"]);
    const isCompleting = (path: string) => /subscriptions\/sub_half|coupons/.test(path);
    expect(api.calls.slice(calls).filter(isCompleting)).to.deep.equal([]);
    expect(await mrr()).to.equal(before);
  });

  it("should reject what cannot be had, hold up nothing, and book it when it can", async () => {
    answerDiscount("sub_late");
    refuse("sub_late", 500);
    const before = await mrr();
    await deliver(subscription("late", { discounts: ["di_half"] }));
    await deliver(subscription("plain"));
    await until(async () => (await mrr()) === before + 20);
    await until(async () => (await openRejects()).length === 1);
    const [reject] = await openRejects();
    expect(reject).to.include({ step: "complete", reason: "enrichment_unavailable" });
    api.misbehave = null;
    await until(async () => (await mrr()) === before + 30);
    await until(async () => (await openRejects()).length === 0);
  });

  it("should list what the API refuses, and leave it to a person", async () => {
    refuse("sub_refused", 403);
    await deliver(subscription("refused", { discounts: ["di_half"] }));
    await until(async () => (await openRejects()).length === 1);
    expect((await openRejects())[0]).to.include({ step: "complete", reason: "enrichment_refused" });
  });

  it("should book what was refused when the integration is given other credentials", async () => {
    answerDiscount("sub_refused");
    const before = await mrr();
    const credentials = { signing_secret: secret, api_key: apiKey };
    const changed = await endpoints.manage("PATCH", integration, { credentials });
    expect(changed.status, changed.text).to.equal(200);
    await passCredentialsSeen(endpoints.service);
    await until(async () => (await mrr()) === before + 10);
    await until(async () => (await openRejects()).length === 0);
  });

  it("should book it also when the process that took the credentials died at once", async () => {
    answerDiscount("sub_died");
    refuse("sub_died", 403);
    const before = await mrr();
    await deliver(subscription("died", { discounts: ["di_half"] }));
    await until(async () => (await openRejects()).length === 1);
    api.misbehave = null;
    const { postgres, vault } = endpoints.service;
    const credentials = { signing_secret: secret, api_key: apiKey };
    const change = { credentials: () => credentials, expireOld: false };
    await changeIntegration(postgres, vault, basename(integration), change, new Date());
    await passCredentialsSeen({ postgres });
    await until(async () => (await mrr()) === before + 10);
    await until(async () => (await openRejects()).length === 0);
  });

  function answerDiscount(id: string): void {
    api.objects.set(`/v1/subscriptions/${id}`, { ...answeredDiscount, id });
  }

  /** What asks for it gets no answer before the function is called that this returns. */
  function holdBack(id: string, object: JsonObject = { ...answeredDiscount, id }): () => void {
    let answer = (): void => {};
    api.misbehave = (request, response) => {
      if (request.url?.includes(id) !== true) return false;
      answer = () => send(response, 200, object);
      return true;
    };
    return () => answer();
  }

  function refuse(id: string, status: number): void {
    api.misbehave = (request, response) => {
      if (request.url?.includes(id) !== true) return false;
      send(response, status, {});
      return true;
    };
  }

  async function incompleteRecord(
    body: JsonObject,
    step: "complete" | "enrich",
    receivedAt = Date.now(),
  ) {
    const { service, workspace } = endpoints;
    const heading = stripe.heading(body, {}, Date.now());
    if (heading === null) throw new Error("no event");
    const integrations = await endpoints.manage("GET", `/workspaces/${workspace}/integrations`);
    const meta = metaOf({
      event_id: `evt_norm_${workspace}_${heading.nativeId}`,
      workspace,
      integration: String(integrations.json.data[0].id),
      native_id: heading.nativeId,
      native_type: heading.nativeType,
      received_at: receivedAt,
      rates_edition: service.rates.edition,
    });
    return incompleteOf(service.vault, meta, body, step);
  }

  async function deliver(event: JsonObject): Promise<void> {
    const signed = stripe.sign(eventBody(event), { signing_secret: secret }, Date.now());
    const answer = await endpoints.post(webhook, signed);
    expect(answer.status, answer.text).to.equal(200);
  }

  const read: Endpoints["get"] = (...call) => endpoints.get(...call);
  async function transaction(query = ""): Promise<Record<string, unknown> | undefined> {
    const { json } = await read(`/v1/transactions${query}`);
    return json.data[0];
  }
  async function completeTo(path = "/v1/transactions"): Promise<string> {
    return String((await read(path)).json.complete_to);
  }
  async function mrr(): Promise<number> {
    return (await read("/v1/metrics/mrr")).json.data.current_mrr;
  }
  async function productNames(): Promise<string[]> {
    const { json } = await read("/v1/products");
    return json.data.map(({ name }: { name: string }) => name);
  }
  const openRejects = (): Promise<Record<string, unknown>[]> => endpoints.rejects();
  async function outcomesOf(nativeId: string): Promise<string[]> {
    const rows = await endpoints.service.clickhouse.rows<{ outcome: string }>(
      "SELECT outcome FROM raw_events FINAL WHERE native_id = {nativeId:String} ORDER BY offset",
      { nativeId },
    );
    return rows.map(({ outcome }) => outcome);
  }
  async function rawRecordOf(nativeId: string) {
    const records = await endpoints.service.log.read(topics.raw, 0, 0n, 100_000);
    const found = records.find(
      ({ value }) => rawEventCodec.decode(value).meta.native_id === nativeId,
    );
    if (found === undefined) throw new Error(`no raw record of ${nativeId}`);
    return { key: found.key, value: found.value };
  }
});
