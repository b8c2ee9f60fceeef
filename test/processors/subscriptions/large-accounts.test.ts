/** Accounts with more changes than anybody expects: they end, and hold up nobody else. */
import { expect } from "chai";
import { listRejects } from "../../../workspaces/rejects/rejects.js";
import { limits } from "../../../config.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { suiteBooking } from "../../harness/booking.js";
import { factOf } from "../../harness/facts.js";
import { quoteOf, subscription } from "../../harness/fact-bodies.js";

const itemsPerChange = 500;
const changesMax = limits.accountSizeMax / itemsPerChange;

describe("Booking changes of a large account", () => {
  const here = suiteBooking("large-accounts");

  /**
   * Subscriptions of one account that cost nothing.
   * @param ends they end at once, so that a full account has room for them, too
   */
  async function fill(account: string, changes: number, ends = false): Promise<void> {
    const free = Array.from({ length: itemsPerChange }, () => 0n);
    const facts = Array.from({ length: changes }, (_, index) => {
      const event = `${ends ? "end" : "fill"}${index}`;
      const named = { subscription: event, account, phase: "started" } as const;
      const at = 1_770_000_000_000 + index;
      const body = subscription(at, free, named);
      if (!("Subscription" in body)) throw new Error("no subscription");
      const { steps } = body.Subscription;
      const over = { ...body.Subscription, steps: [...steps, { at: at + 1, items: [] }] };
      return reported(event, 0, ends ? { Subscription: over } : body);
    });
    await here.book(...facts);
  }

  function reported(event: string, second: number, body: FactBody): Fact {
    return factOf(body, {
      fact_id: `${event}:${"Unidentified" in body ? 1 : 0}`,
      event_id: event,
      workspace: here.workspace,
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
    const found = await listRejects(
      here.clickhouse,
      { workspace: here.workspace, state: "open" },
      null,
      10,
    );
    return found
      .filter(({ reason }) => reason !== "no_open_subscription")
      .map(({ event_id, step, reason, offset }) => `${offset} ${event_id} ${step} ${reason}`);
  }

  function mrr(): Promise<unknown[]> {
    return here.rows(
      `SELECT account, sum(mrr) AS mrr FROM mrr_movements
       WHERE workspace = {workspace:String} GROUP BY account ORDER BY account`,
    );
  }

  it("should reject what comes after it is full, and book others of the batch", async () => {
    await fill("full", changesMax);
    const batch = [started("full", "late", 1), started("other", "another", 2)];
    for (const _ of ["once", "again"]) {
      await here.book(...batch);
      expect(await rejects()).to.eql(["1 late book account_too_large"]);
      expect(await mrr()).to.eql([{ account: "other", mrr: "10" }]);
    }
  });

  it("should end what counts in a full account, as long as there is room for ends", async () => {
    await here.book(started("shop", "one", 1), started("shop", "two", 1));
    await fill("shop", changesMax);
    await here.book(ended("shop", "end of one", 2, "one"));
    await here.book(started("shop", "another", 3));
    expect(await rejects()).to.eql(["3 another book account_too_large"]);
    expect(await mrr()).to.eql([{ account: "shop", mrr: "10" }]);
    await fill("shop", limits.accountEndsMax / itemsPerChange, true);
    await here.book(ended("shop", "end of two", 4, "two"));
    expect(await rejects()).to.include("4 end of two book account_too_large");
  });

  it("should reject an unidentified churn whose end has no room", async () => {
    await here.book(started("shop", "begun", 1), side("shop", "begun", 1, "start"));
    await fill("shop", changesMax);
    await fill("shop", limits.accountEndsMax / itemsPerChange, true);
    await here.book(side("shop", "churned", 2, "churn"));
    expect(await rejects()).to.eql(["2 churned book account_too_large"]);
    // Others of the pool try that end again, and are not to blame for it.
    for (const which of ["start", "churn"] as const) {
      await here.book(side("other", `other ${which}`, 3, which));
    }
    expect(await rejects()).to.eql(["2 churned book account_too_large"]);
    expect(await mrr()).to.eql([{ account: "shop", mrr: "10" }]);
  });
});
