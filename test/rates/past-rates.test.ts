/**
 * Events dated long ago in a currency the ECB does not quote, at the real service: the list of
 * their day is fetched, for a caller who waits and for a webhook that is replayed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { LocalReceipts } from "../../stores/watermark/in-flight-receipts.js";
import { ApiError } from "../../schemas/http/errors.js";
import { type Rates, openRates } from "../../workspaces/rates/rates.js";
import { type Receipts, openReceipts } from "../../ingest/idempotency.js";
import { Releases } from "../../runtime/releases.js";
import { readConfig } from "../../config.js";
import { claimOf } from "../../ingest/event.js";
import type { Line, Source } from "../../ingest/lines.js";
import { type StampingEndpoint, stamped } from "../../ingest/stamped.js";
import { createProviders } from "../../providers/index.js";
import { dayAfter, utcDay } from "../../schemas/money/rates.js";
import { must, number, text } from "../model/readers/json.js";
import { type Merchant, deliver, openMerchant, readPages } from "../model/merchant.js";
import type { Sent } from "../model/stories/story.js";
import { SuiteService } from "../harness/service-process.js";
import { serveHttp } from "../harness/loopback.js";
import { openTestPostgres, prepareProcess, testLogger } from "../harness/stores.js";

const bookedWithinMs = 60_000;

/** Pesos for one euro, by the day of the list. */
const pesos = new Map([
  ["2024-03-05", 915],
  ["2025-08-31", 1580],
  ["2025-09-10", 1600],
  ["2025-09-19", 1625],
]);

describe("Rates of days long past", function suite() {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), "past-rates-"));
  let asked: string[] = [];
  /** Answers wait for it. */
  let held = Promise.resolve();
  let origin: string;

  before(async () => {
    origin = await serveHttp("sources of rates", (request, response) => {
      const day = /^\/wide\/(.*)$/.exec(request.url ?? "")?.[1] ?? "";
      asked.push(day);
      void answerWith(day, response);
    });
  });
  beforeEach(() => {
    asked = [];
  });
  after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  async function answerWith(day: string, response: ServerResponse): Promise<void> {
    await held;
    const ars = pesos.get(day);
    if (ars === undefined) response.writeHead(404).end();
    else response.end(JSON.stringify({ date: day, eur: { usd: 1.1, ars } }));
  }
  const settings = () => ({
    RATES_REFRESH: "on",
    ECB_RATES_URL: `${origin}/ecb`,
    WIDE_RATES_URL: `${origin}/wide/{date}`,
  });

  describe("at the service", () => {
    const service = new SuiteService();
    let merchant: Merchant;
    before(async () => {
      const given = { ...(await prepareProcess(folder)), ...settings() };
      const { endpoint } = await service.start(folder, given);
      merchant = await openMerchant(endpoint, "EUR");
    });

    /** What was booked of the event of that day. */
    async function booked(day: string): Promise<object> {
      const until = Date.now() + bookedWithinMs;
      for (;;) {
        const rows = await readPages(merchant, "/v1/transactions", {});
        const row = rows.find((one) => text(one, "timestamp")?.startsWith(day));
        if (row !== undefined) {
          return { amount: number(row, "normalized_amount"), fx_date: text(row, "fx_date") };
        }
        if (Date.now() > until) throw new Error(`nothing was booked of ${day}`);
        await pause(200);
      }
    }

    it("should convert webhooks by the lists of their own days, however far apart", async () => {
      // The second came out at the first one's list, as 109.29.
      for (const [day, amount, fx_date] of [
        ["2024-03-06", 109.29, "2024-03-05"],
        ["2025-09-01", 63.29, "2025-08-31"],
      ] as const) {
        const { status } = await deliver(merchant, { ...pesosOn(day), source: "custom" });
        expect(status).to.equal(200);
        expect(await booked(day)).to.deep.equal({ amount, fx_date });
      }
    });

    it("should fetch the list while a caller waits, and answer as it books", async () => {
      const answer = await deliver(merchant, { ...pesosOn("2025-09-11"), source: "record" });
      const body: unknown = await answer.json();
      expect(answer.status, JSON.stringify(body)).to.equal(202);
      expect(number(body, "normalized", "amount_base")).to.equal(62.5);
      expect(await booked("2025-09-11")).to.deep.equal({ amount: 62.5, fx_date: "2025-09-10" });
    });

    it("should fetch the lists of a batch, and refuse the lines that have none", async () => {
      const lines = ["2025-09-20", "2025-09-20", "2025-11-20"].map((day, index) =>
        JSON.stringify({ ...pesosOn(day).body, event_id: `line-${index}` }),
      );
      const response = await fetch(`${merchant.endpoint.base}/v1/events/ingest`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${merchant.key}`,
          "content-type": "application/x-ndjson",
        },
        body: lines.join("\n"),
      });
      const answers = (await response.text())
        .trimEnd()
        .split("\n")
        .map((one) => JSON.parse(one));
      expect(answers.map((one) => number(one, "normalized", "amount_base"))).to.deep.equal([
        61.54,
        61.54,
        null,
      ]);
      expect(text(answers[2], "error", "code")).to.equal("fx_rate_missing");
      expect(asked.filter((day) => day === "2025-09-19")).to.have.length(1);
    });
  });

  describe("at the endpoint", () => {
    const releases = new Releases(testLogger);
    const access = {
      workspace: `past-rates-${process.pid}`,
      environment: "live",
      keyId: "key",
      scope: "Full Ingress",
      baseCurrency: "EUR",
    } as const;
    let rates: Rates;
    let receipts: Receipts;
    let endpoint: StampingEndpoint;
    before(async () => {
      const postgres = await openTestPostgres();
      await postgres.query("TRUNCATE rate_quotes, rate_editions");
      const config = readConfig(settings());
      rates = await openRates({ postgres, config, releases, logger: testLogger });
      receipts = openReceipts({ postgres, logger: testLogger });
      releases.push("receipts", () => receipts.close());
      const inFlight = new LocalReceipts(Date.now);
      const watermark = { receive: () => inFlight.receive(0) };
      endpoint = {
        service: { postgres, rates, watermark },
        providers: createProviders(config),
        receipts,
      };
    });
    after(() => releases.release());

    async function lineOf(body: object): Promise<Line> {
      const source: Source = {
        bytes: Buffer.from(JSON.stringify(body)),
        ownIdentity: null,
        identitiesOf: ({ identities }) => identities,
      };
      const { receipt, lines } = await stamped(endpoint, access, [source]);
      receipt.settle();
      return must(lines[0], "a line");
    }

    it("should answer again as it did, though a newer list has ended the rate since", async () => {
      const newest = must(rates.newestDay().wide, "a list");
      const { body } = pesosOn(dayAfter(newest, 20));
      const first = await lineOf(body);
      if (first instanceof ApiError) throw first;
      await receipts.claim(access, [claimOf(first, [])]);
      pesos.set(dayAfter(utcDay(Date.now()), -1), 1700);
      await rates.refresh();

      expect(await lineOf(body))
        .to.have.property("answer")
        .that.deep.equals(first.answer);
      const conflict = await lineOf({ ...body, amount: 1 });
      expect(conflict).to.have.property("code", "event_id_conflict");
      const another = await lineOf({ ...body, event_id: "another" });
      expect(another).to.have.property("code", "fx_rate_missing");
    });

    it("should read an event without a rate once: a batch may have thousands", async () => {
      const bytes = Buffer.from(JSON.stringify(pesosOn("2005-03-01").body));
      let read = 0;
      const source: Source = {
        get bytes() {
          read += 1;
          return bytes;
        },
        ownIdentity: null,
        identitiesOf: ({ identities }) => identities,
      };
      const { receipt, lines } = await stamped(endpoint, access, [source]);
      receipt.settle();
      expect(lines[0]).to.have.property("code", "fx_rate_missing");
      expect(read).to.equal(1);
    });

    it("should wait some seconds for a list, and take the event when it came later", async () => {
      const { body } = pesosOn("2025-12-25");
      let letGo = (): void => {};
      held = new Promise((resolve) => (letGo = resolve));
      pesos.set("2025-12-24", 2000);
      const refused = await lineOf(body);
      expect(refused).to.include({ code: "fx_rate_missing", param: "currency" });
      expect(refused).to.have.property("message").that.contains("try again");
      letGo();
      const taken = await lineOf(body);
      expect(taken).to.have.nested.property("answer.normalized.amount_base", 50);
    });
  });
});

/** 100,000 Argentine pesos. */
function pesosOn(day: string): Omit<Sent, "source"> {
  const id = `sale-${day}`;
  const body = {
    event_id: id,
    event_type: "transaction.sale",
    provider: "custom",
    amount: 100_000,
    currency: "ARS",
    occurred_at: `${day}T10:00:00Z`,
  };
  return { id, body };
}
