/** Plan intervals of what a version before booked, which knew none. */
import { expect } from "chai";
import { differenceOf } from "../../../processors/book/account/recorded.js";
import { bookedTables } from "../../../processors/book/booked.js";
import { readRows, writeRows } from "../../../processors/book/table-writer.js";
import { viewOf } from "../../../processors/book/subscriptions/movements.js";
import type { Fact } from "../../../schemas/records/records.js";
import type { PlanInterval } from "../../../schemas/money/plan-intervals.js";
import { tabSeparated } from "../../../stores/clickhouse/rows.js";
import { suiteBooking } from "../../harness/booking.js";
import { factOf } from "../../harness/facts.js";
import { quoteOf, subscription } from "../../harness/fact-bodies.js";

describe("Plan intervals", () => {
  const here = suiteBooking("plan-intervals");

  /** @param interval undefined: the fact is of a version before */
  function reported(second: number, cents: bigint, interval?: PlanInterval): Fact {
    const at = 1_780_000_000_000 + second * 1_000;
    const { Subscription: state } = subscription(at, cents === 0n ? [] : [cents]);
    const steps = state.steps.map((step) => ({
      ...step,
      items: step.items.map((item) => ({
        ...item,
        ...(interval !== undefined && { plan_interval: interval }),
      })),
    }));
    const phase = cents === 0n ? "ended" : "changed";
    return factOf(
      { Subscription: { ...state, phase, steps } },
      {
        fact_id: `e${second}:0`,
        event_id: `e${second}`,
        workspace: here.workspace,
        received_at: at,
        quote: quoteOf(),
      },
    );
  }

  const sums = async () => {
    const rows = await here.rows<{ what: string }>(
      `SELECT concat(event_id, ' ', kind, ' ', plan_interval, ' ', toString(sum(mrr))) AS what
       FROM mrr_movements WHERE workspace = {workspace:String}
       GROUP BY event_id, kind, plan_interval HAVING sum(mrr) != 0
       ORDER BY event_id, kind, plan_interval`,
    );
    return rows.map(({ what }) => what);
  };
  const rowCount = async () => {
    const [row] = await here.rows<{ n: string }>(
      "SELECT count() AS n FROM mrr_movements WHERE workspace = {workspace:String}",
    );
    return Number(row?.n);
  };
  async function expectAudited(): Promise<void> {
    const view = await viewOf(here.clickhouse, `workspace = '${here.workspace}'`);
    expect(differenceOf(view)).to.deep.equal([]);
  }

  it("should be unknown of what was booked before, and come with a replay", async () => {
    await here.book(reported(1, 4_000n), reported(2, 3_000n));
    await here.book(reported(3, 0n));
    const before = ["e1 new unknown 40", "e2 contraction unknown -10", "e3 churn unknown -30"];
    expect(await sums()).to.deep.equal(before);
    await expectAudited();

    const replayed = [reported(1, 4_000n, "month"), reported(2, 3_000n, "year"), reported(3, 0n)];
    await here.book(...replayed);
    const after = [
      "e1 new month 40",
      "e2 contraction month -10",
      "e2 switch month -30",
      "e2 switch year 30",
      "e3 churn year -30",
    ];
    expect(await sums()).to.deep.equal(after);
    await expectAudited();

    const rows = await rowCount();
    await here.book(...replayed);
    expect(await rowCount()).to.equal(rows);
  });

  it("should be unknown of rows that a version before queued and did not write", () => {
    const structure = bookedTables.mrr_movements;
    const earlier = structure.replace(", plan_interval String", "");
    const texts =
      "workspace environment account provider subscription external_id currency country";
    const names = `${texts} at kind vintage recorded_at event_id mrr booked_at`.split(" ");
    const counts = { accounts: 1, subscriptions: 1, correction: 0 };
    const row = { ...Object.fromEntries(names.map((name) => [name, name])), ...counts };
    const rows = [row, { ...row, account: "tab\tand line\n" }];
    const written = writeRows({ mrr_movements: tabSeparated(earlier, rows), ledger: "as it is\n" });
    const known = rows.map((one) => ({ ...one, plan_interval: "unknown" }));
    const now = { mrr_movements: tabSeparated(structure, known), ledger: "as it is\n" };
    expect(earlier).to.not.equal(structure);
    expect(readRows(written)).to.deep.equal(now);
    expect(readRows(writeRows(now))).to.deep.equal(now);
  });

  it("should stay with a price that a later event reports the interval of", async () => {
    await here.book(reported(1, 4_000n));
    await here.book(reported(2, 4_000n, "month"), reported(3, 6_000n, "month"));
    expect(await sums()).to.deep.equal([
      "e1 new unknown 40",
      "e3 expansion month 20",
      "e3 switch month 40",
      "e3 switch unknown -40",
    ]);
    await expectAudited();
  });
});
