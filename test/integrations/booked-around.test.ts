import { expect } from "chai";
import { bookedAround } from "../../processors/reconcile/booked.js";
import { newTenant } from "../harness/query-rows.js";
import { openTestClickHouse } from "../harness/stores.js";

const perDay = 6_000;
/** The last day before the month but one, the last one before it, and three days in it. */
const days = ["2025-12-30", "2025-12-31", "2026-01-05", "2026-01-06", "2026-01-31"];
const month = { from: Date.parse("2026-01-01"), to: Date.parse("2026-02-01") };

describe("The booked payments of a month", () => {
  it("should all be read, each as it was booked last, when its days are busy", async () => {
    const clickhouse = await openTestClickHouse();
    const tenant = newTenant();
    const book = (version: number, amount: number): Promise<void> =>
      clickhouse.write(
        `INSERT INTO transactions (workspace, environment, provider, timestamp, id, payment,
           recorded_at, version, gross_amount, type)
         SELECT {workspace:String}, 'live', 'stripe' AS provider,
           toDateTime64(({days:Array(String)})[1 + number % ${days.length}], 3, 'UTC'),
           concat('tx_', toString(number)), concat('pay_', toString(number)) AS payment,
           fromUnixTimestamp64Milli(${Date.now()} + {version:UInt32}, 'UTC'),
           {version:UInt32}, {amount:UInt32}, 'one_time'
         FROM numbers(${days.length * perDay}) WHERE {version:UInt32} = 1 OR number % 1000 < 10`,
        { workspace: tenant.workspace, days, version, amount },
      );
    await book(1, 500);
    await book(2, 700);
    const of = { id: "int_1", provider: "stripe", ...tenant } as const;
    const booked = await bookedAround(clickhouse, of, month);
    expect(booked).to.have.lengthOf(4 * perDay);
    const readDays = booked?.map(({ at }) => new Date(at).toISOString().slice(0, 10)) ?? [];
    expect([...new Set(readDays)]).to.deep.equal(days.slice(1));
    expect(readDays).to.deep.equal(readDays.toSorted());
    const amounts = new Map(booked?.map(({ payment, amount }) => [payment, amount]));
    expect(amounts.get("pay_1"), "booked twice").to.equal(700n);
    expect(amounts.get("pay_11"), "booked once").to.equal(500n);
  });
});
