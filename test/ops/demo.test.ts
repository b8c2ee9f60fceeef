/** The demo's made-up business, at the real endpoint: the service must know what it sold. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { z } from "zod";
import { DemoProcess } from "../../api/manage/demo/process.js";
import { readConfig } from "../../config.js";
import { type Business, makeBusiness } from "../../ops/demo/business.js";
import { dayMs } from "../../ops/demo/calendar.js";
import { Chance } from "../../ops/demo/chance.js";
import { deliver } from "../../ops/demo/deliver.js";
import { demoTokens, newAccount, ofEach } from "../../ops/demo/integrations.js";
import { DemoFolder, FolderRefused } from "../../ops/demo/folder.js";
import type { Journal, Reported, Sold } from "../../ops/demo/journal.js";
import { LiveBusiness } from "../../ops/demo/live.js";
import { ask, type Merchant, whenBooked } from "../../ops/demo/merchant.js";
import { recordPast } from "../../ops/demo/past.js";
import { personOf } from "../../ops/demo/person.js";
import { demoEnvironment } from "../../ops/demo/service-process.js";
import { knownExponentOf, majorToMinor } from "../../schemas/money/money.js";
import { cohortsAnswer } from "../../api/cohorts/schema.js";
import { mrrAnswer } from "../../api/mrr/schema.js";
import { productsAnswer } from "../../api/products/schema.js";
import {
  type Transaction,
  type TransactionsAnswer,
  transactionsAnswer,
} from "../../schemas/http/transactions.js";
import { coverage } from "../../schemas/http/manage.js";
import { placeDatabase } from "../harness/empty-database.js";
import { openEndpoints } from "../harness/endpoints.js";
import { severalAtOnce, until } from "../harness/promises.js";
import { SuiteService } from "../harness/service-process.js";
import { openTestService } from "../harness/service.js";

/** A seed, and a day, whose few customers live through nearly everything. */
const end = Date.UTC(2026, 5, 30, 12);
const plan = {
  seed: "small 76",
  days: 90,
  customers: 16,
  customersAtFirst: 6,
  customersOfOtherProviders: 40,
  end,
};
const liveHappenings = 40;
/** More than enough for every membership to have ended and begun again. */
const liveAtLength = 250;

describe("the demo", () => {
  let merchant: Merchant;
  before(async () => {
    merchant = await openMerchant("USD");
  });

  it("should not work on servers or with secrets that are set for something else", () => {
    const servers = {
      ADMIN_TOKEN: "t".repeat(32),
      CLICKHOUSE_CLUSTER: "revenue",
      CLICKHOUSE_SHARD_URLS: "http://host:8123",
      CLICKHOUSE_URL: "http://host:8123",
      DATABASE_URL: "postgres://user@host/database",
      KAFKA_BROKERS: "host:9092",
      PUBLIC_URL: "http://host",
      SCHEMA_REGISTRY_URL: "http://host:8081",
      STATE_DATABASE_URLS: "postgres://user@host/state",
      VAULT_ENCRYPTION_KEY: "ab".repeat(32),
      VAULT_ENCRYPTION_KEY_PREVIOUS: "cd".repeat(32),
    };
    expect(Object.keys(readConfig(servers))).to.include.members(Object.keys(servers));
    expect(readConfig(demoEnvironment(servers))).to.deep.equal(readConfig({}));
    expect(demoEnvironment({ ...servers, PORT: "3001" })).to.deep.equal({ PORT: "3001" });
  });

  it("should make the same business from the same seed, and another from another", () => {
    const { deliveries } = makeBusiness(plan);
    expect(makeBusiness(plan).deliveries).to.deep.equal(deliveries);
    expect(makeBusiness({ ...plan, seed: "other" }).deliveries).to.not.deep.equal(deliveries);
  });

  it("should name customers whom no mail can reach, each the same at every run", () => {
    const people = Array.from({ length: 50 }, (_, index) => personOf(`demo${1000 + index}`));
    for (const [index, { name, email }] of people.entries()) {
      expect(email).to.match(/^[a-z]+\.[a-z]+\d+@example\.com$/);
      expect(personOf(`demo${1000 + index}`)).to.deep.equal({ name, email });
    }
    expect(new Set(people.map(({ email }) => email)).size).to.equal(people.length);
    const { deliveries } = makeBusiness(plan);
    const named = deliveries.filter(({ body }) => /(@|%40)example\.com/.test(body.toString()));
    expect(new Set(named.map(({ provider }) => provider))).to.include.all.keys(
      "stripe",
      "lemonsqueezy",
      "gumroad",
      "custom",
    );
  });

  it("should be booked as the business kept its own books, however often it is sent", async () => {
    const { journal, deliveries } = makeBusiness(plan);
    const sold = [...journal.sold.values()];
    expect(sold.length, "currencies").to.be.greaterThan(2);
    expect(sold.some(({ refunded }) => refunded > 0n)).to.equal(true);
    expect(sold.some(({ disputes }) => disputes > 0)).to.equal(true);
    expect(new Set(deliveries).size, "some come twice").to.be.lessThan(deliveries.length);
    await deliverAll(merchant, deliveries);
    await expectBooks(merchant, journal, journal.subscribers);
    await deliverAll(merchant, deliveries.slice(0, 100));
    await expectBooks(merchant, journal, journal.subscribers);
    const path = `/v1/products?period=lifetime&at=${new Date(journal.end).toISOString()}&limit=200`;
    const { data: products } = await ask(merchant, path, productsAnswer);
    expect(products.reduce((sum, one) => sum + one.total_sales, 0)).to.equal(journal.payments);

    expect(new Set(deliveries.map(({ provider }) => provider))).to.have.all.keys(...demoTokens);
    const { data: mrr } = await ask(merchant, "/v1/metrics/mrr", mrrAnswer);
    expect(mrr.breakdown_by_provider).to.include.all.keys("stripe", "paddle", "apple");

    const { data } = await ask(merchant, "/v1/metrics/cohorts", cohortsAnswer);
    expect(data.cohorts.length).to.be.within(3, 4);
    for (const cohort of data.cohorts) expect(cohort.retention_curve[0]).to.equal(100);
  });

  it("should keep books of its live events too", async () => {
    const another = await openMerchant("EUR");
    const live = new LiveBusiness("live", new Chance("live"));
    const reported = Array.from({ length: liveHappenings }, (_, count) =>
      live.next(end + count * 1000),
    );
    await deliverAll(another, reported.flat());
    await expectBooks(another, live.journal, live.subscribers);
  });
});

describe("the demo's history", () => {
  const service = new SuiteService();
  let folder: string;
  let merchant: Merchant;
  let business: Business;
  before(async function open() {
    this.timeout(240_000);
    folder = mkdtempSync(join(tmpdir(), "demo-past-"));
    await placeDatabase(folder);
    business = makeBusiness({ ...plan, end: Date.now() });
    const since = business.journal.end - plan.days * dayMs;
    const made = await recordPast(folder, business, { baseCurrency: "USD", since });
    const { endpoint } = await service.start(folder);
    merchant = { ...made, url: endpoint.base };
    await whenBooked(merchant);
  });
  after(() => rmSync(folder, { recursive: true }));

  it("should be booked as the business kept its own books", async () => {
    await expectBooks(merchant, business.journal, business.journal.subscribers);
  });

  it("should have been known as it went, and not before", async () => {
    const readAt = async (days: number): Promise<number[]> => {
      const at = new Date(business.journal.end - days * dayMs).toISOString();
      const mrr = await ask(merchant, `/v1/metrics/mrr?known_at=${at}`, mrrAnswer);
      return [mrr.data.current_mrr, mrr.data.active_subscribers];
    };
    const monthly = [];
    for (const days of [0, 30, 60]) monthly.push(await readAt(days));
    const now = await ask(merchant, "/v1/metrics/mrr", mrrAnswer);
    expect(monthly[0]?.[1]).to.equal(now.data.active_subscribers);
    const subscribers = monthly.map(([, active]) => active);
    expect(new Set(subscribers).size, subscribers.join()).to.equal(3);
    expect(await readAt(plan.days + 1)).to.deep.equal([0, 0]);
  });

  it("should be known of every provider from the first day", async () => {
    const adminToken = readFileSync(join(folder, "admin.token"), "utf8").trim();
    const manager = { url: `${merchant.url}/v1/manage/workspaces`, key: adminToken };
    const one = z.object({ id: z.string(), provider: z.string().optional() });
    const list = z.object({ data: z.array(one) });
    const answer = z.object({ data: coverage });
    const [workspace] = (await ask(manager, "", list)).data;
    const path = `/${workspace?.id}/integrations`;
    for (const { id, provider } of (await ask(manager, path, list)).data) {
      if (provider === "custom") continue;
      const covered = async () => (await ask(manager, `${path}/${id}/coverage`, answer)).data;
      // The journal, written behind the figures, says when the first call came.
      await until(async () => (await covered()).months.at(-1)?.known_by !== "none");
      expect((await covered()).unread_until, provider).to.equal(null);
    }
  });

  it("should go on with live events at the endpoint, and stay on its level", async () => {
    const before = await ask(merchant, "/v1/metrics/mrr", mrrAnswer);
    const live = new LiveBusiness("later", new Chance("later"));
    const startAt = Date.now() - liveAtLength * 2_000;
    for (let count = 0; count < liveAtLength; count += 1) {
      await deliverAll(merchant, live.next(startAt + count * 2_000));
    }
    await whenBooked(merchant);
    expect(live.subscribers).to.be.within(1, 12);
    const { data } = await ask(merchant, "/v1/metrics/mrr", mrrAnswer);
    const { active_subscribers: active } = before.data;
    expect(data.active_subscribers).to.equal(active + live.subscribers);
  });
});

describe("The demo that a service starts", function suite() {
  this.timeout(120_000);

  it("should say how far it is, and end with the service", async () => {
    const above = mkdtempSync(join(tmpdir(), "demo-"));
    const demo = new DemoProcess(join(above, "data"));
    expect(demo.progress).to.deep.equal({ state: "none", said: null });
    demo.begin();
    demo.begin();
    await until(() => /^Writing two years \d+ %$/.test(demo.progress.said ?? ""));
    expect(demo.progress.state).to.equal("starting");
    expect(demo.linkFrom("localhost")).to.equal(null);
    demo.end();
    await until(() => demo.progress.state !== "starting");
    expect(demo.progress).to.deep.equal({ state: "failed", said: "The demo has ended." });
    rmSync(above, { recursive: true });
  });

  it("should say why it cannot start", async () => {
    const above = mkdtempSync(join(tmpdir(), "demo-"));
    mkdirSync(join(above, "demo-data"));
    writeFileSync(join(above, "demo-data", "letters.txt"), "dear");
    const demo = new DemoProcess(join(above, "data"));
    demo.begin();
    await until(() => demo.progress.state === "failed");
    expect(demo.progress.said).to.match(/demo-data is not empty and has no demo/);
    rmSync(above, { recursive: true });
  });

  it("should be refused to a browser on another machine", async () => {
    const { base, adminToken } = await openTestService();
    for (const method of ["GET", "POST"]) {
      const headers = { host: "revenue.example.com", authorization: `Bearer ${adminToken}` };
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const url = new URL("/v1/manage/demo", base);
        httpRequest(url, { method, headers }, resolve).on("error", reject).end();
      });
      const text = Buffer.concat(await response.toArray()).toString();
      expect(response.statusCode, text).to.equal(method === "GET" ? 200 : 422);
      expect(text).to.include(method === "GET" ? '"state":"elsewhere"' : '"demo_elsewhere"');
    }
  });
});

describe("the demo's folder", () => {
  let above: string;
  let path: string;
  const open = (fresh: boolean, now: number) => DemoFolder.open(path, { fresh, seed: "s", now });
  beforeEach(() => {
    above = mkdtempSync(join(tmpdir(), "demo-"));
    path = join(above, "demo-data");
  });
  afterEach(() => rmSync(above, { recursive: true }));

  it("should go on with what it finds, unless it shall begin anew", () => {
    const integration = { webhookPath: "/w", account: { credentials: { signing_secret: "s" } } };
    const integrations = {
      stripe: integration,
      paddle: integration,
      lemonsqueezy: integration,
      gumroad: integration,
      revenuecat: integration,
      apple: integration,
      custom: integration,
    };
    const made = { url: "http://one", key: "k", integrations };
    open(false, 1).remember(made);
    expect(statSync(join(path, "demo.json")).mode & 0o077).to.equal(0);
    const again = open(false, 2);
    expect(again.end).to.equal(1);
    expect(again.merchantAt("http://two")).to.deep.equal({ ...made, url: "http://two" });
    mkdirSync(again.data);
    expect(again.isWhole).to.equal(true);
    again.forgetData();
    expect(existsSync(again.data)).to.equal(false);
    const fresh = open(true, 3);
    expect(fresh.isWhole).to.equal(false);
    expect(fresh.end).to.equal(3);
    expect(fresh.merchantAt("http://two")).to.equal(null);
  });

  it("should refuse, and never remove, a folder that is no demo's", () => {
    path = above;
    const file = join(path, "letters.txt");
    writeFileSync(file, "dear");
    for (const fresh of [false, true]) {
      expect(() => open(fresh, 1)).to.throw(FolderRefused, /is not empty and has no demo/);
    }
    expect(existsSync(file)).to.equal(true);
  });
});

async function openMerchant(base_currency: string): Promise<Merchant> {
  const endpoints = await openEndpoints({ hasStripe: false });
  const made = await endpoints.manage("POST", "/workspaces", { name: "Demo", base_currency });
  const path = `/workspaces/${made.json.data.id}`;
  const environment = "Production";
  const key = await endpoints.manage("POST", `${path}/keys`, {
    environment,
    scope: "Full Ingress",
  });
  const integrations = await ofEach(async (provider) => {
    const account = newAccount(provider);
    const given = { provider, environment, credentials: account.credentials };
    const { status, json, text } = await endpoints.manage("POST", `${path}/integrations`, given);
    expect(status, text).to.equal(201);
    return { webhookPath: String(json.data.webhook_path), account };
  });
  return { url: endpoints.base, key: key.json.data.key, integrations };
}

/** As fast as the endpoint takes them, nearly in this order. */
function deliverAll(merchant: Merchant, deliveries: readonly Reported[]): Promise<void> {
  return severalAtOnce(deliveries, (one) => deliver(merchant, one));
}

async function expectBooks(merchant: Merchant, journal: Journal, active: number): Promise<void> {
  await whenBooked(merchant);
  expect(booksOf(await allTransactions(merchant))).to.deep.equal(new Map(sorted(journal.sold)));

  const { data: mrr } = await ask(merchant, "/v1/metrics/mrr", mrrAnswer);
  expect(mrr.active_subscribers).to.equal(active).and.to.be.greaterThan(0);
  // The cheapest seat costs about 13 dollars a month, the dearest subscription about 470.
  expect(mrr.current_mrr / active).to.be.within(8, 500);

  const path = "/v1/products?period=lifetime&limit=200";
  const { data: products } = await ask(merchant, path, productsAnswer);
  const subscriptions = products.map((product) => product.active_subscriptions);
  expect(subscriptions.reduce((sum, count) => sum + count, 0)).to.equal(active);
  const sales = products.map((product) => product.total_sales);
  expect(sales.reduce((sum, count) => sum + count, 0)).to.equal(journal.payments);
  expect(products.map(({ name }) => name)).to.not.include("Unattributed");
}

/** The same books, from what the service answers. */
function booksOf(transactions: readonly Transaction[]): Map<string, Sold> {
  const books = new Map<string, Sold>();
  for (const row of transactions) {
    const currency = row.original_currency;
    const sold = books.get(currency) ?? { payments: 0, gross: 0n, refunded: 0n, disputes: 0 };
    sold.payments += 1;
    sold.gross += minor(row.gross_amount, currency);
    sold.refunded += minor(row.refunded_amount, currency);
    sold.disputes += row.status === "disputed" ? 1 : 0;
    books.set(currency, sold);
  }
  return new Map(sorted(books));
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1));
}

function minor(major: number, currency: string): bigint {
  const amount = majorToMinor(String(major), knownExponentOf(currency));
  if (amount === null) throw new Error(`${major} is no amount of ${currency}`);
  return amount;
}

async function allTransactions(merchant: Merchant): Promise<Transaction[]> {
  const rows: Transaction[] = [];
  let query = "limit=200";
  for (;;) {
    const page: TransactionsAnswer = await ask(
      merchant,
      `/v1/transactions?${query}`,
      transactionsAnswer,
    );
    rows.push(...page.data);
    const cursor = page.pagination.next_cursor;
    if (cursor === null) return rows;
    query = new URLSearchParams({ cursor, limit: "200" }).toString();
  }
}
