/**
 * The examples of docs/consumers against a real broker and a process of ours, which is their schema
 * registry too: what they print is what the API answers.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { Kafka, logLevel } from "kafkajs";
import { projectFile } from "../../runtime/project-root.js";
import { startKafka } from "../../ops/servers/kafka.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { knownExponentOf, majorToMinor, minorToMajor } from "../../schemas/money/money.js";
import { mrrMinor } from "../../api/reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import { publicTopics } from "../../schemas/records/public-topics.js";
import { placeDatabase } from "../harness/empty-database.js";
import { discountedSubscription } from "../harness/discounted.js";
import { at, list, must, text } from "../model/readers/json.js";
import { type Merchant, openMerchant, whenBooked } from "../model/merchant.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { freePort, SuiteService } from "../harness/service-process.js";

/** How long a consumer may take to get all messages: a failure, then, not a hang. */
const secondsMax = "60";

const consumers: readonly {
  readonly name: string;
  readonly folder: string;
  readonly installed: string;
  readonly install: string;
  readonly command: readonly [string, ...string[]];
}[] = [
  {
    name: "Python",
    folder: projectFile("docs", "consumers", "python"),
    installed: ".venv",
    install: "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
    command: [join(".venv", "bin", "python"), "revenue.py"],
  },
  {
    name: "Node",
    folder: projectFile("docs", "consumers", "node"),
    installed: "node_modules",
    install: "npm ci",
    command: [process.execPath, "revenue.js"],
  },
];

const client = {
  name: "TypeScript",
  folder: projectFile("docs", "consumers", "typescript"),
  installed: "node_modules",
  install: "npm ci",
};

describe("the examples for data teams", function suite() {
  this.timeout(300_000);
  const service = new SuiteService();
  const own = suiteOnServers("consumers", ["kafka"]);
  let kafka: LocalServer;
  let merchant: Merchant;
  let messages = 0;

  before(async function open() {
    const examples = [...consumers, client];
    const missing = examples.filter(({ folder: home, installed }) => !hasIn(home, installed));
    for (const { name, folder: home, install } of missing) {
      const reported = `The ${name} example is not installed: in ${home} run ${install}`;
      if (process.env.CI !== undefined) throw new Error(reported);
      process.stderr.write(`${reported}\n`);
    }
    if (missing.length === examples.length) this.skip();
    const options = { folder: join(own.folder, "kafka"), port: await freePort() };
    kafka = own.keep(await startKafka(options));
    const data = join(own.folder, "data");
    await placeDatabase(data);
    const { endpoint } = await service.start(data, { KAFKA_BROKERS: kafka.url });
    merchant = await openMerchant(endpoint, "EUR");
    for (const event of events) await ingest(merchant, event);
    await whenBooked(merchant);
    messages = await messagesOn(kafka.url);
  });

  for (const { name, folder: home, installed, command } of consumers) {
    it(`should print the API's figures in ${name}`, async function consume() {
      if (!hasIn(home, installed)) this.skip();
      const [program, ...words] = command;
      const options = ["--messages", String(messages), "--seconds", secondsMax];
      const { stdout } = await promisify(execFile)(program, [...words, ...options], {
        cwd: home,
        env: {
          ...process.env,
          KAFKA_BROKERS: kafka.url,
          SCHEMA_REGISTRY_URL: merchant.endpoint.base,
        },
      });
      expect(roundedMrr(stdout.trim())).to.equal(await expectedLines(merchant));
    });
  }

  it("should print them by the HTTP interface, typed by its document", async function ask() {
    if (!hasIn(client.folder, client.installed)) this.skip();
    const { stdout } = await promisify(execFile)("npm", ["start", "--silent"], {
      cwd: client.folder,
      env: { ...process.env, REVENUE_URL: merchant.endpoint.base, REVENUE_KEY: merchant.key },
    });
    const expected = (await expectedLines(merchant)).replaceAll(/ sold in .*/g, "");
    expect(stdout.trim()).to.equal(expected);
  });
});

const sale = (id: string, amount: number, currency: string) => ({
  event_type: "transaction.sale",
  event_id: `sale ${id}`,
  transaction_id: id,
  product_id: "book",
  amount,
  currency,
});
const refund = (id: string, amount: number, currency: string) => ({
  ...sale(id, amount, currency),
  event_type: "transaction.refund",
  event_id: `refund ${id} ${amount}`,
});
const subscription = (id: string, amount: number, currency: string) => ({
  event_type: "subscription.new",
  event_id: `start ${id}`,
  subscription_id: id,
  customer_id: `customer of ${id}`,
  product_id: "plan",
  amount,
  currency,
});
const { transaction_id: _none, ...loneRefund } = refund("gift", 3.3, "USD");
const churn = {
  ...subscription("s2", 9, "USD"),
  event_type: "subscription.churn",
  event_id: "end",
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const startedAt = Date.now();
const discounted = discountedSubscription("evt_discounted", {
  startedAt,
  endsAt: startedAt + 30 * dayMs,
});

/**
 * Every rule a consumer must know: versions, repeats, minor units, refunds with and without, what
 * is dated ahead.
 */
const events: readonly object[] = [
  sale("1", 120.05, "EUR"),
  sale("2", 0.1, "USD"),
  sale("3", 0.2, "USD"),
  sale("4", 9_800, "JPY"),
  sale("5", 1.234, "KWD"),
  refund("1", 20.01, "EUR"),
  refund("1", 30, "EUR"),
  refund("4", 9_800, "JPY"),
  loneRefund,
  subscription("s1", 29, "EUR"),
  subscription("s2", 9, "USD"),
  churn,
  subscription("s3", 1_500, "JPY"),
  sale("1", 120.05, "EUR"),
  { ...sale("ahead", 77, "EUR"), occurred_at: new Date(Date.now() + 20 * hourMs).toISOString() },
  { provider: "stripe", event_type: "customer.subscription.created", payload: discounted },
];

async function ingest({ endpoint, key }: Merchant, event: object): Promise<void> {
  const answer = await fetch(`${endpoint.base}/v1/events/ingest`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ provider: "custom", ...event }),
  });
  expect(answer.status, await answer.text()).to.equal(202);
}

function hasIn(folder: string, name: string): boolean {
  return existsSync(join(folder, name));
}

async function messagesOn(broker: string): Promise<number> {
  const admin = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const ends = await Promise.all(publicTopics.map((topic) => admin.fetchTopicOffsets(topic)));
    return ends.flat().reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  } finally {
    await admin.disconnect();
  }
}

/** What a consumer prints, made from the API's answers. */
async function expectedLines(merchant: Merchant): Promise<string> {
  const { endpoint, key, baseCurrency } = merchant;
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(endpoint.base + path, {
      headers: { authorization: `Bearer ${key}` },
    });
    return at(await answer.json(), "data");
  };
  const transactions = list(await get("/v1/transactions?limit=200"));
  const revenue = list(
    at(await get("/v1/metrics/revenue?interval=year&group_by=currency"), "revenue"),
  );
  const mrr = at(await get("/v1/metrics/mrr"), "current_mrr");

  const sums = new Map<string, { sold: bigint; refunded: bigint }>();
  for (const transaction of transactions) {
    const currency = must(text(transaction, "original_currency"), "a currency");
    const sum = sums.get(currency) ?? { sold: 0n, refunded: 0n };
    sums.set(currency, sum);
    const isSale = text(transaction, "type") !== "refund";
    if (isSale) sum.sold += minor(at(transaction, "gross_amount"), currency);
    sum.refunded += minor(at(transaction, "refunded_amount"), currency);
  }
  const grossOf = (currency: string): bigint =>
    revenue
      .filter((row) => text(row, "original_currency") === currency)
      .reduce((sum: bigint, row) => sum + minor(at(row, "gross"), baseCurrency), 0n);
  return [
    ...[...sums]
      .sort(byName)
      .map(
        ([currency, { sold, refunded }]) =>
          `${currency} sold ${shown(sold, currency)} refunded ${shown(refunded, currency)}` +
          ` sold in ${baseCurrency} ${shown(grossOf(currency), baseCurrency)}`,
      ),
    `MRR ${baseCurrency} ${shown(minor(mrr, baseCurrency), baseCurrency)}`,
  ].join("\n");
}

/** MRR has six places on the topic; the API rounds the sum for display. */
function roundedMrr(printed: string): string {
  return printed.replace(/(?<=^MRR (\w{3}) )-?[\d.]+$/m, (sum: string, currency: string) =>
    shown(mrrMinor(mrrOf(sum), currency), currency),
  );
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

function minor(major: unknown, currency: string): bigint {
  return must(majorToMinor(String(major), knownExponentOf(currency)), "an amount");
}

function shown(amountMinor: bigint, currency: string): string {
  return minorToMajor(amountMinor, knownExponentOf(currency));
}
