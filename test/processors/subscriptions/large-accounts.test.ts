/** Accounts with more changes than anybody expects: they end, and hold up nobody else. */
import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import type { Log } from "../../../log/log.js";
import { listRejects } from "../../../rejects/rejects.js";
import { limits } from "../../../config.js";
import { AccountSizes } from "../../../processors/book/subscriptions/account-quota.js";
import { bookSubscriptions } from "../../../processors/book/subscriptions/book-subscriptions.js";
import { bookedNow } from "../../../schemas/booked-at.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { factOf, recordsOf } from "../../harness/facts.js";
import { quoteOf, subscription } from "../../harness/fact-bodies.js";
import { bookingOver, openTestClickHouse, openTestLog } from "../../harness/stores.js";

const itemsPerChange = 500;
const changesMax = limits.accountSizeMax / itemsPerChange;

describe("Booking changes of a large account", () => {
  let clickhouse: ClickHouse;
  let log: Log;
  let workspace: string;
  before(async () => {
    clickhouse = await openTestClickHouse();
    log = openTestLog("large-accounts");
  });
  beforeEach(() => {
    workspace = `ws_${randomUUID()}`;
  });

  const serviceOver = (store: ClickHouse) => bookingOver(store, log);
  const book = (...facts: Fact[]) => bookSubscriptions(serviceOver(clickhouse), recordsOf(facts));

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
    return factOf(body, {
      fact_id: `${event}:${"Unidentified" in body ? 1 : 0}`,
      event_id: event,
      workspace,
      provider: "custom",
      offset: BigInt(second),
      native_type: "subscription.new",
      received_at: 1_790_000_000_000 + second * 1_000,
      quote: quoteOf(),
    });
  }

  function ended(account: string, event: string, second: number, name: string): Fact {
    const named = { subscription: name, account, phase: "ended" } as const;
    return reported(event, second, subscription(1_780_000_000_000 + second, [], named));
  }

  function started(account: string, event: string, second: number, items = 1): Fact {
    const perMonth = Array.from({ length: items }, (_, place) => (place === 0 ? 1_000n : 0n));
    const named = { subscription: event, account, phase: "started" } as const;
    return reported(event, second, subscription(1_780_000_000_000, perMonth, named));
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
      await book(...batch);
      expect(await rejects()).to.eql(["1 late book account_too_large"]);
      expect(await mrr()).to.eql([{ account: "other", mrr: "10" }]);
    }
  });

  it("should end what counts in a full account, as long as there is room for ends", async () => {
    await book(started("shop", "one", 1), started("shop", "two", 1));
    await fill("shop", changesMax);
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
    const bookAlone = (fact: Fact) =>
      bookSubscriptions({ ...service, accountSizes }, recordsOf([fact])).then(() => looks.length);
    expect(await bookAlone(started("early", "early", 1)), "before sizes are read").to.equal(1);
    await accountSizes.read(clickhouse);
    expect(await bookAlone(started("other", "another", 2)), "of another account").to.equal(1);
    expect(await bookAlone(started("full", "late", 3)), "of the full account").to.equal(2);
    expect(await rejects()).to.eql(["3 late book account_too_large"]);
    for (const near of [4, 5])
      await bookAlone(started("near", `near${near}`, near, changesMax * 250));
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
    await book(last, started("filling", "beyond", 2));
    expect(await rejects()).to.eql(["2 beyond book account_too_large"]);
    expect(await mrr()).to.eql([{ account: "filling", mrr: "10" }]);
  });

  it("should reject an unidentified churn whose end has no room", async () => {
    await book(started("shop", "begun", 1), side("shop", "begun", 1, "start"));
    await fill("shop", changesMax + limits.accountEndsMax / itemsPerChange);
    await book(side("shop", "churned", 2, "churn"));
    expect(await rejects()).to.eql(["2 churned book account_too_large"]);
    // Others of the pool try that end again, and are not to blame for it.
    for (const which of ["start", "churn"] as const) {
      await book(side("other", `other ${which}`, 3, which));
    }
    expect(await rejects()).to.eql(["2 churned book account_too_large"]);
    expect(await mrr()).to.eql([{ account: "shop", mrr: "10" }]);
  });
});
