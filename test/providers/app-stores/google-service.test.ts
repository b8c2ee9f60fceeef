/** Google Play through the whole service: pushes in any order, the API asked over HTTP. */
import { expect } from "chai";
import { findEvent } from "../../../api/events/search.js";
import { webhookRoute } from "../../../ingest/webhooks.js";
import { createGoogle } from "../../../providers/google/index.js";
import {
  type JsonObject,
  orderAnswer,
  type OrderInput,
  type PurchaseInput,
  pushBody,
  pushBytes,
  subscriptionNotification,
  subscriptionProduct,
  subscriptionPurchase,
  voidedPurchaseNotification,
} from "../../payloads/google.js";
import type { Topic } from "../../../schemas/records/records.js";
import { subscriptionPath, subscriptionProductPath } from "../../../providers/google/paths.js";
import { inClear } from "../../harness/facts.js";
import { type Answer, expectError, suiteEndpoints } from "../../harness/endpoints.js";
import { until } from "../../harness/promises.js";
import { credentialsOf, makeSigner, packageName } from "../../apis/google-signer.js";
import { send } from "../../apis/stripe-api.js";

const google = createGoogle();
const signer = makeSigner("of-the-service");
const bought = Date.parse("2026-06-10T09:00:00Z");
const renewed = Date.parse("2026-07-10T09:00:00Z");
const upgraded = Date.parse("2026-07-20T12:00:00Z");
const charged = Date.parse("2026-08-02T12:00:00Z");
const base = "GPA.3344-1111-2222-33301";
const upgrade = "GPA.3344-1111-2222-33302";

describe("Google Play, through the service", () => {
  const endpoints = suiteEndpoints();
  let webhook: string;
  let testKey: string;

  before(async () => {
    const integration = await endpoints.integrate("google", {
      ...credentialsOf(signer),
      service_account_key: endpoints.play.serviceAccountKey,
    });
    webhook = integration.webhook_path;
    testKey = (await endpoints.newKey("Test")).key;
    emitWorld();
  });

  /** As Google answers in the end: bought, renewed, upgraded; the renewal was charged back. */
  function emitWorld(): void {
    purchase("ada", {
      state: "EXPIRED",
      startAt: bought,
      isReplaced: true,
      items: [item("atlas.pro", upgraded - 400, `${base}..0`)],
    });
    order({ id: base, token: "ada", createdAt: bought }, 999n, bought, renewed);
    const refund = { at: charged, isChargeback: true };
    const back = { id: `${base}..0`, token: "ada", createdAt: renewed, refund };
    order({ ...back, state: "REFUNDED" }, 999n, renewed, Date.parse("2026-08-10T09:00:00Z"));
    purchase("eve", {
      startAt: upgraded,
      replaces: "ada",
      items: [item("atlas.team", Date.parse("2026-08-20T12:00:00Z"), upgrade)],
    });
    const end = Date.parse("2026-08-20T12:00:00Z");
    order({ id: upgrade, token: "eve", createdAt: upgraded }, 2999n, upgraded, end, "atlas.team");
    purchase("tester", { startAt: bought, isTest: true, items: [item("atlas.pro", renewed, "T")] });
    order({ id: "T", token: "tester", createdAt: bought }, 999n, bought, renewed);
    const titles = { "atlas.pro": "Atlas Pro", "atlas.team": "Atlas Team" };
    for (const [product, title] of Object.entries(titles)) {
      const answer = subscriptionProduct({ packageName, product, title, basePlans: { m: "P1M" } });
      endpoints.play.answers.set(subscriptionProductPath(packageName, product), answer);
    }
  }

  function item(product: string, expiresAt: number, latestOrder: string) {
    return { product, basePlan: "m", expiresAt, latestOrder };
  }

  function purchase(
    token: string,
    more: Partial<PurchaseInput> & Pick<PurchaseInput, "items" | "startAt">,
  ): void {
    const answer = subscriptionPurchase({ state: "ACTIVE", country: "DE", ...more });
    endpoints.play.answers.set(subscriptionPath(packageName, token), answer);
  }

  function order(
    input: Omit<OrderInput, "currency" | "lines">,
    price: bigint,
    from: number,
    end: number,
    product = "atlas.pro",
  ): void {
    const period = { basePlan: "m", from, until: end, phase: "base" as const };
    const line = { product, title: "?", listingPrice: price, total: price, tax: 0n, period };
    endpoints.play.orders.set(input.id, orderAnswer({ ...input, currency: "EUR", lines: [line] }));
  }

  async function push(notification: JsonObject, at: number): Promise<Answer> {
    const messageId = `${at}${JSON.stringify(notification).length}`;
    const body = pushBytes(pushBody({ messageId, packageName, at, notification }));
    return endpoints.post(webhook, google.sign(body, signer, Date.now()));
  }

  async function mrrOnceBooked(key = endpoints.key): Promise<object> {
    await endpoints.booked();
    return (await endpoints.get("/v1/metrics/mrr", key)).json.data;
  }

  interface Row {
    readonly gross_amount: number;
    readonly status: string;
    readonly product_name: string;
  }

  /** Names are optional: they follow what is booked. */
  async function onceNamed(key = endpoints.key): Promise<Row[]> {
    let rows: Row[] = [];
    await until(async () => {
      rows = (await endpoints.get("/v1/transactions?provider=google", key)).json.data;
      return rows.every((row) => row.product_name.startsWith("Atlas"));
    });
    return rows;
  }

  it("should book purchases reported in any order, each order and account once", async () => {
    const reported: readonly [JsonObject, number][] = [
      [subscriptionNotification(4, "eve"), upgraded + 3_000],
      [subscriptionNotification(13, "ada"), upgraded + 4_000],
      [subscriptionNotification(2, "ada"), renewed + 1_000],
      [subscriptionNotification(4, "ada"), bought + 2_000],
      [subscriptionNotification(4, "eve"), upgraded + 3_000],
    ];
    for (const [notification, at] of reported) {
      const answer = await push(notification, at);
      expect(answer.status, answer.text).to.equal(200);
    }
    expect(await mrrOnceBooked()).to.include({ current_mrr: 29.99, active_subscribers: 1 });
    const transactions = (await onceNamed()).map((row) => {
      return [row.gross_amount, row.status, row.product_name];
    });
    expect(transactions).to.deep.equal([
      [29.99, "succeeded", "Atlas Team"],
      [9.99, "disputed", "Atlas Pro"],
      [9.99, "succeeded", "Atlas Pro"],
    ]);
    const before = await endpoints.get("/v1/metrics/mrr?at=2026-07-15T00:00:00Z");
    expect(before.json.data).to.include({ current_mrr: 9.99, active_subscribers: 1 });
    const cohorts = (await endpoints.get("/v1/metrics/cohorts")).json.data.cohorts;
    expect(cohorts.map((cohort: { vintage: string }) => cohort.vintage)).to.deep.equal(["2026-06"]);
    expect(cohorts[0].starting_mrr).to.equal(9.99);
  });

  it("should keep an account when Google has forgotten where its chain began", async () => {
    const id = "GPA.3344-1111-2222-33303";
    const end = Date.parse("2026-09-02T13:00:00Z");
    const items = [item("atlas.pro", end, id)];
    purchase("ivy", { startAt: charged + 3_600_000, replaces: "eve", items });
    order({ id, token: "ivy", createdAt: charged }, 999n, charged + 3_600_000, end);
    await push(subscriptionNotification(4, "ivy"), charged + 3_601_000);
    await endpoints.booked();
    for (const gone of ["ada", "eve"]) {
      endpoints.play.answers.delete(subscriptionPath(packageName, gone));
    }
    await push(subscriptionNotification(7, "ivy"), charged + 7_200_000);
    expect(await mrrOnceBooked()).to.include({ current_mrr: 9.99, active_subscribers: 1 });
  });

  it("should keep a test purchase to the test environment, which only the API names", async () => {
    await push(subscriptionNotification(4, "tester"), bought + 5_000);
    expect(await mrrOnceBooked()).to.include({ current_mrr: 9.99, active_subscribers: 1 });
    expect(await mrrOnceBooked(testKey)).to.include({ current_mrr: 9.99 });
    expect((await endpoints.get("/v1/transactions", testKey)).json.data).to.have.lengthOf(1);
  });

  it("should name a product also to the environment that did not ask for it first", async () => {
    expect((await onceNamed(testKey))[0]?.product_name).to.equal("Atlas Pro");
  });

  it("should explain a test purchase to the key that sees it, and to no other", async () => {
    const [row] = (await endpoints.get("/v1/transactions", testKey)).json.data;
    const { json } = await endpoints.get(`/v1/transactions/${row.id}`, testKey);
    const [version] = json.data.versions;
    const path = `/v1/events/${version.event_id}`;
    let event: Answer | undefined;
    // The journal is written a moment behind.
    await until(async () => (event = await endpoints.get(path, testKey)).status === 200);
    expect(event?.json.data).to.include({ native_type: "SUBSCRIPTION_PURCHASED" });
    expect(event?.json.data.movements).to.have.lengthOf(1);
    expect((await endpoints.get(path)).status).to.equal(404);

    const { clickhouse, log } = endpoints.service;
    const uncommitted = {
      read: log.read.bind(log),
      ends: log.ends.bind(log),
      committed: async (topic: Topic) => (await log.ends(topic)).map(() => 0n),
    };
    const tenant = { workspace: endpoints.workspace, environment: "live" } as const;
    const found = await findEvent({ clickhouse, log: uncommitted }, tenant, version.event_id);
    expect(found, "journalled, its offset not committed yet").to.equal(null);
  });

  it("should reject what Google knows nothing of: anyone on the topic could send it", async () => {
    const purchaseToken = "forged";
    const voided = { purchaseToken, orderId: "GPA.9", isSubscription: false };
    expect((await push(subscriptionNotification(2, purchaseToken), renewed)).status).to.equal(200);
    expect((await push(voidedPurchaseNotification(voided), renewed)).status).to.equal(200);
    await endpoints.booked();
    const reasons = await reasonsOf(`/workspaces/${endpoints.workspace}/rejects`);
    expect(reasons).to.deep.equal(["order_unknown", "purchase_unknown"]);
  });

  it("should report a purchase of another app from credentials that are refused", async () => {
    const path = `/workspaces/${endpoints.workspace}/rejects`;
    const reasonsBefore = await reasonsOf(path);
    const answers = [
      ["of-another-app", 400],
      ["that-the-account-may-not-see", 403],
    ] as const;
    endpoints.play.misbehave = (request, response) => {
      const [, status] = answers.find(([token]) => request.url?.endsWith(token)) ?? [];
      if (status !== undefined) send(response, status, { error: { code: status } });
      return status !== undefined;
    };
    for (const [token] of answers) await push(subscriptionNotification(2, token), renewed);
    await endpoints.booked();
    endpoints.play.misbehave = null;
    expect(await reasonsOf(path)).to.deep.equal(
      [...reasonsBefore, "enrichment_refused", "purchase_unknown"].sort(),
    );
  });

  async function reasonsOf(path: string): Promise<string[]> {
    const { json } = await endpoints.manage("GET", path);
    return json.data.map(({ reason }: { reason: string }) => reason).sort();
  }

  it("should refuse a push whose token is another's", async () => {
    const body = pushBytes(pushBody({ messageId: "1", packageName, at: bought, notification: {} }));
    const signed = google.sign(body, makeSigner("of-the-service"), Date.now());
    const answer = await endpoints.post(webhook, signed);
    expect(answer.status).to.equal(401);
    expect(answer.json.error.code).to.equal("signature_mismatch");
  });

  it("should answer 503 while Google's keys cannot be fetched, and take nothing", async () => {
    const { audience, email } = signer;
    const credentials = { audience, service_account_email: email, package_name: packageName };
    const made = await endpoints.integrate("google", credentials);
    const token = made.webhook_path.split("/").at(-1) ?? "";
    // The same endpoint, in front of an adapter whose keys are where nobody answers.
    const unreachable = createGoogle({ keysUrl: "http://127.0.0.1:9/certs" });
    const providers = new Map([["google", unreachable]]);
    endpoints.service.router.post(
      "/unreachable/:token",
      webhookRoute({ ...endpoints.service, hashAccount: inClear }, providers),
    );
    const before = await endpoints.taken();
    const bytes = pushBytes(
      pushBody({ messageId: "2", packageName, at: bought, notification: {} }),
    );
    const signed = google.sign(bytes, signer, Date.now());
    const answer = await endpoints.post(`/unreachable/${token}`, signed);
    expectError(answer, "503 keys_unavailable");
    expect(answer.headers.get("retry-after")).to.equal("1");
    expect(await endpoints.taken()).to.equal(before);
  });
});
