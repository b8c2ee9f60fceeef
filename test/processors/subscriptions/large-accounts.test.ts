/** Accounts with more changes than anybody expects: they end, and hold up nobody else. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect } from "chai";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import { openLmdbLog } from "../../../log/lmdb/lmdb-log.js";
import type { Log } from "../../../log/log.js";
import { listRejects } from "../../../rejects/rejects.js";
import { limits } from "../../../config.js";
import { AccountSizes } from "../../../processors/book/subscriptions/account-quota.js";
import type { BookingService } from "../../../processors/book/money/book-money.js";
import { bookSubscriptions } from "../../../processors/book/subscriptions/book-subscriptions.js";
import { bookedNow } from "../../../schemas/booked-at.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { factOf, recordsOf } from "../../harness/facts.js";
import { lmdbTopics } from "../../log/log-topics.js";
import { openTestClickHouse, testFolder, testLogger, testReleases } from "../../harness/stores.js";

const itemsPerChange = 500;
const changesMax = limits.accountSizeMax / itemsPerChange;

describe("Booking changes of a large account", () => {
  let clickhouse: ClickHouse;
  let log: Log;
  let workspace: string;
  before(async () => {
    clickhouse = await openTestClickHouse();
    const path = join(testFolder, "log-of-large-accounts");
    log = openLmdbLog({ path, topics: lmdbTopics({ partitions: 1 }), logger: testLogger });
    testReleases.push("log of large accounts", () => log.close());
  });
  beforeEach(() => {
    workspace = `ws_${randomUUID()}`;
  });

  function serviceOver(store: ClickHouse): BookingService {
    const skus = { see: async () => {}, name: async () => {}, productName: async () => "" };
    return { clickhouse: store, log, logger: testLogger, skus };
  }

  /** Subscriptions of one account that cost nothing, begun one a second. */
  async function fill(account: string, changes: number): Promise<void> {
    const items = `arrayMap(i -> (toString(i), 'sku', 'EUR:0/1', toDecimal128(0, 6)),
                            range(${itemsPerChange}))`;
    await clickhouse.write(
      `INSERT INTO subscription_changes
       SELECT '${workspace}', 'live', '${account}', 'custom', 's' || toString(number),
              'f' || toString(number), 1, 0,
              toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + number AS at, 'started',
              'e' || toString(number), at, 'EUR', 'DE', [(at, ${items})], ${bookedNow}
       FROM numbers(${changes})`,
      {},
      "subscriptions",
    );
  }

  function reported(event: string, second: number, body: FactBody): Fact {
    const quote = { currency: "EUR", base_currency: "EUR", rate: "1", date: "2026-01-01" };
    return factOf(body, {
      fact_id: `${event}:${"Unidentified" in body ? 1 : 0}`,
      event_id: event,
      workspace,
      provider: "custom",
      offset: BigInt(second),
      native_type: "subscription.new",
      received_at: 1_790_000_000_000 + second * 1_000,
      quote: { ...quote, source: "same", edition: 1 },
    });
  }

  function ended(account: string, event: string, second: number, subscription: string): Fact {
    const step = { at: 1_780_000_000_000 + second, items: [] };
    const body = { subscription, account, country: null, currency: "EUR" };
    return reported(event, second, {
      Subscription: { ...body, phase: "ended" as const, steps: [step] },
    });
  }

  function started(account: string, event: string, second: number, items = 1): Fact {
    return reported(event, second, {
      Subscription: {
        subscription: event,
        account,
        country: null,
        currency: "EUR",
        phase: "started",
        steps: [
          {
            at: 1_780_000_000_000,
            items: Array.from({ length: items }, (_, place) => ({
              item: String(place),
              external_id: "sku",
              monthly_numerator: place === 0 ? 1_000n : 0n,
              monthly_denominator: 1n,
            })),
          },
        ],
      },
    });
  }

  function side(account: string, event: string, second: number, which: "start" | "churn"): Fact {
    const at = 1_780_000_000_000 + second;
    return reported(event, second, {
      Unidentified: { pool: "pool", side: which, at, subscription: event, account },
    });
  }

  async function rejects(): Promise<unknown[]> {
    const found = await listRejects(clickhouse, { workspace, state: "open" }, null, 10);
    return found
      .filter(({ reason }) => reason !== "no_open_subscription")
      .map(({ event_id, step, reason, offset }) => `${offset} ${event_id} ${step} ${reason}`);
  }

  function mrr(): Promise<unknown[]> {
    return clickhouse.rows(
      `SELECT account, sum(mrr) AS mrr FROM mrr_movements
       WHERE workspace = {workspace:String} GROUP BY account ORDER BY account`,
      { workspace },
    );
  }

  it("should reject what comes after it is full, and book others of the batch", async () => {
    await fill("full", changesMax);
    const batch = [started("full", "late", 1), started("other", "another", 2)];
    for (const _ of ["once", "again"]) {
      await bookSubscriptions(serviceOver(clickhouse), recordsOf(batch));
      expect(await rejects()).to.eql(["1 late book account_too_large"]);
      expect(await mrr()).to.eql([{ account: "other", mrr: "10" }]);
    }
  });

  it("should end what counts in a full account, as long as there is room for ends", async () => {
    const begun = [started("shop", "one", 1), started("shop", "two", 1)];
    await bookSubscriptions(serviceOver(clickhouse), recordsOf(begun));
    await fill("shop", changesMax);
    const book = (fact: Fact) => bookSubscriptions(serviceOver(clickhouse), recordsOf([fact]));
    await book(ended("shop", "end of one", 2, "one"));
    await book(started("shop", "another", 3));
    expect(await rejects()).to.eql(["3 another book account_too_large"]);
    expect(await mrr()).to.eql([{ account: "shop", mrr: "10" }]);
    await fill("shop", limits.accountEndsMax / itemsPerChange);
    await book(ended("shop", "end of two", 4, "two"));
    expect(await rejects()).to.include("4 end of two book account_too_large");
  });

  it("should look at no account in a process that is alone, unless one may be near", async () => {
    await fill("full", changesMax);
    const looks: string[] = [];
    const service = serviceOver({
      ...clickhouse,
      rows(sql, params) {
        if (/HAVING sum/.test(sql)) looks.push(sql);
        return clickhouse.rows(sql, params);
      },
    });
    const accountSizes = new AccountSizes();
    const book = (fact: Fact) =>
      bookSubscriptions({ ...service, accountSizes }, recordsOf([fact])).then(() => looks.length);
    expect(await book(started("early", "early", 1)), "before sizes are read").to.equal(1);
    await accountSizes.read(clickhouse);
    expect(await book(started("other", "another", 2)), "of another account").to.equal(1);
    expect(await book(started("full", "late", 3)), "of the full account").to.equal(2);
    expect(await rejects()).to.eql(["3 late book account_too_large"]);
    for (const near of [4, 5]) await book(started("near", `near${near}`, near, changesMax * 250));
    expect(looks, "of an account this process filled").to.have.length(4);
  });

  it("should never reject what it booked before a crash", async () => {
    await fill("filling", changesMax - 1);
    const last = started("filling", "last", 1, itemsPerChange);
    let writes = 0;
    const dying = serviceOver({
      ...clickhouse,
      write(sql, params, lane) {
        writes += 1;
        if (writes > 1) return Promise.reject(new Error("killed"));
        return clickhouse.write(sql, params, lane);
      },
    });
    const death = await bookSubscriptions(dying, recordsOf([last])).catch(String);
    expect(death).to.equal("Error: killed");
    const batch = [last, started("filling", "beyond", 2)];
    await bookSubscriptions(serviceOver(clickhouse), recordsOf(batch));
    expect(await rejects()).to.eql(["2 beyond book account_too_large"]);
    expect(await mrr()).to.eql([{ account: "filling", mrr: "10" }]);
  });

  it("should reject an unidentified churn whose end has no room", async () => {
    await bookSubscriptions(
      serviceOver(clickhouse),
      recordsOf([started("shop", "begun", 1), side("shop", "begun", 1, "start")]),
    );
    await fill("shop", changesMax + limits.accountEndsMax / itemsPerChange);
    await bookSubscriptions(
      serviceOver(clickhouse),
      recordsOf([side("shop", "churned", 2, "churn")]),
    );
    expect(await rejects()).to.eql(["2 churned book account_too_large"]);
    // Others of the pool try that end again, and are not to blame for it.
    for (const which of ["start", "churn"] as const) {
      await bookSubscriptions(
        serviceOver(clickhouse),
        recordsOf([side("other", `other ${which}`, 3, which)]),
      );
    }
    expect(await rejects()).to.eql(["2 churned book account_too_large"]);
    expect(await mrr()).to.eql([{ account: "shop", mrr: "10" }]);
  });
});
