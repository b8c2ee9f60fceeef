/** What a provider's API adds to an event already booked is a second reading of that event. */
import { expect } from "chai";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { hasNewQuestions, answeredForAll } from "../../processors/enrich/questions.js";
import { RecentlyPublished } from "../../processors/enrich/recently-published.js";
import { createPaddle } from "../../providers/paddle/index.js";
import { paddleEvent, priceData, subscriptionData } from "../../ops/payloads/paddle.js";
import { viewOf } from "../../processors/book/subscriptions/movements.js";
import { insertChanges, newTenant, type TestChange } from "../harness/query-rows.js";
import { metaOf } from "../harness/facts.js";
import { openTestClickHouse } from "../harness/stores.js";
import type { Opened } from "../../processors/normalize/outcome.js";

const at = Date.UTC(2026, 3, 14, 10);
const secondMs = 1000;

/** The country of a Paddle subscription is asked for after the event was booked without. */
const booked: TestChange = {
  account: "",
  change_id: "evt_1:0",
  event_id: "evt_1",
  at,
  recorded_at: at + secondMs,
  phase: "started",
  mrr: "30",
};
const enriched: TestChange = {
  ...booked,
  change_id: "evt_1:enriched:0",
  recorded_at: at + 2 * secondMs,
  mrr: "20",
};

describe("two readings of one event", () => {
  let clickhouse: ClickHouse;

  before(async () => {
    clickhouse = await openTestClickHouse();
  });

  for (const [order, changes] of [
    ["in the order of receipt", [booked, enriched]],
    ["the other way round", [enriched, booked]],
  ] as const) {
    it(`should count as the later one says, written ${order}`, async () => {
      const tenant = newTenant();
      const account = `account_${tenant.workspace}`;
      for (const change of changes) {
        await insertChanges(clickhouse, tenant, [{ ...change, account }]);
      }
      expect(await movementsOf(account, "recorded_at < '2100-01-01'")).to.deep.equal(["ZZ new 20"]);
      // As it was known before the answer came.
      expect(
        await movementsOf(account, `recorded_at < '${clickhouseTime(enriched.recorded_at)}'`),
      ).to.deep.equal(["ZZ new 30"]);
    });
  }

  async function movementsOf(account: string, known: string): Promise<unknown[]> {
    const { should } = await viewOf(clickhouse, `account = '${account}' AND ${known}`);
    const sums = new Map<string, number>();
    for (const { country, kind, mrr } of should) {
      const name = `${country} ${kind}`;
      sums.set(name, (sums.get(name) ?? 0) + Number(mrr));
    }
    return [...sums].map(([name, mrr]) => `${name} ${mrr}`);
  }
});

describe("An event whose questions were answered lately", () => {
  const answers = new Map([
    ["/customers/ctm_1/addresses/add_1", {}],
    ["/products/pro_1", {}],
  ]);
  const cases = [
    ["still ask for its customer's country, to report it of itself", "add_1", "live", true],
    ["not wait for a product's name, which is known by now", null, "live", false],
    ["wait for a name that only the other environment was given", null, "test", true],
  ] as const;
  for (const [title, address, environment, expected] of cases) {
    it(`should ${title}`, () => {
      const opened = openedOf(createPaddle({ toleranceSeconds: 60 }), address);
      const reported = new RecentlyPublished();
      expect(hasNewQuestions({ reported }, opened, environment, new Map())).to.equal(true);
      for (const question of answeredForAll(opened, answers)) {
        reported.keep({ integration: "int_1", environment: "live" }, question);
      }
      expect(hasNewQuestions({ reported }, opened, environment, new Map())).to.equal(expected);
    });
  }

  it("should ask again in a minute for a name the API does not have yet", () => {
    const opened = openedOf(createPaddle({ toleranceSeconds: 60 }), null);
    const [question] = answeredForAll(opened, new Map([["/products/pro_1", null]]));
    expect(question?.freshForMs).to.equal(60_000);
  });

  function openedOf(provider: Opened["provider"], address: string | null): Opened {
    const price = priceData({ id: "pri_1", product: "pro_1", unitAmount: 1000n, currency: "EUR" });
    const data = subscriptionData({
      id: "sub_1",
      customer: "ctm_1",
      ...(address === null ? {} : { address }),
      currency: "EUR",
      status: "active",
      startedAt: at,
      items: [{ price, quantity: 1 }],
    });
    return {
      kind: "opened",
      record: { topic: "revenue.raw", partition: 0, offset: 0n, key: "", value: Buffer.alloc(0) },
      event: metaOf({
        provider: "paddle",
        integration: "int_1",
        native_type: "subscription.created",
        received_at: at,
      }),
      baseCurrency: "EUR",
      provider,
      body: paddleEvent({ id: "evt_1", type: "subscription.created", at, data }),
      known: { kept: new Map(), answers: new Map() },
    };
  }
});
