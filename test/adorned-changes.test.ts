/** What a provider's API adds to an event already booked is a second reading of that event. */
import { expect } from "chai";
import type { ClickHouse } from "../backends/clickhouse.js";
import { shouldBeSql } from "../schemas/movements.js";
import { insertChanges, newTenant, type TestChange } from "./query-rows.js";
import { openTestClickHouse } from "./stores.js";

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
  country: "ZZ",
};
const adorned: TestChange = {
  ...booked,
  change_id: "evt_1:adorned:0",
  recorded_at: at + 2 * secondMs,
  country: "DE",
};

describe("two readings of one event", () => {
  let clickhouse: ClickHouse;

  before(async () => {
    clickhouse = await openTestClickHouse();
  });

  for (const [order, changes] of [
    ["in the order of receipt", [booked, adorned]],
    ["the other way round", [adorned, booked]],
  ] as const) {
    it(`should count as the later one says, written ${order}`, async () => {
      const tenant = newTenant();
      const account = `account_${tenant.workspace}`;
      for (const change of changes) {
        await insertChanges(clickhouse, tenant, [{ ...change, account }]);
      }
      expect(await movementsOf(account, "recorded_at < '2100-01-01'")).to.deep.equal([
        { country: "DE", kind: "new", mrr: 30 },
      ]);
      // As it was known before the answer came.
      expect(await movementsOf(account, `change_id = '${booked.change_id}'`)).to.deep.equal([
        { country: "ZZ", kind: "new", mrr: 30 },
      ]);
    });
  }

  async function movementsOf(account: string, known: string): Promise<unknown[]> {
    const rows = await clickhouse.rows<{ country: string; kind: string; mrr: string }>(
      `SELECT country, kind, mrr FROM (${shouldBeSql(`account = '${account}' AND ${known}`)})`,
    );
    return rows.map((row) => ({ ...row, mrr: Number(row.mrr) }));
  }
});
