/** Free trials as booking keeps them: found without reading what all changes are worth. */
import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { differenceOf } from "../../../processors/book/account/recorded.js";
import { viewOf } from "../../../processors/book/subscriptions/movements.js";
import type { Fact } from "../../../schemas/records/records.js";
import type { ClickHouse } from "../../../stores/clickhouse/clickhouse.js";
import type { LmdbLog } from "../../../stores/log/lmdb/lmdb-log.js";
import { bookingOver } from "../../harness/booking.js";
import { quoteOf, subscription } from "../../harness/fact-bodies.js";
import { factOf } from "../../harness/facts.js";
import { openTestClickHouse, openTestLog } from "../../harness/stores.js";

describe("Free trials", () => {
  let clickhouse: ClickHouse;
  let log: LmdbLog;
  let workspace: string;
  before(async () => {
    clickhouse = await openTestClickHouse();
    log = openTestLog("trials");
  });
  beforeEach(() => {
    workspace = `ws_${randomUUID()}`;
  });

  const book = (...facts: Fact[]) => bookingOver(clickhouse, log).book(facts);

  function reported(second: number, cents: readonly bigint[], isTrial = false): Fact {
    const at = 1_780_000_000_000 + second * 1_000;
    const body = subscription(at, cents, isTrial ? { trial: true } : {});
    const event = { fact_id: `e${second}:0`, event_id: `e${second}`, workspace, received_at: at };
    return factOf(body, { ...event, quote: quoteOf() });
  }

  const changes = async () => {
    const rows = await clickhouse.rows<{ what: string }>(
      `SELECT concat(event_id, ' ', toString(revision), ' ', toString(trial)) AS what
       FROM subscription_changes WHERE workspace = {workspace:String} AND subscription != ''
       ORDER BY event_id, revision`,
      { workspace },
    );
    return rows.map(({ what }) => what);
  };
  const movements = async () => {
    const rows = await clickhouse.rows<{ what: string }>(
      `SELECT concat(event_id, ' ', kind, ' ', toString(mrr)) AS what FROM mrr_movements
       WHERE workspace = {workspace:String} AND mrr != 0 ORDER BY event_id, kind, mrr`,
      { workspace },
    );
    return rows.map(({ what }) => what);
  };
  async function expectAudited(): Promise<void> {
    const view = await viewOf(clickhouse, `workspace = '${workspace}'`);
    expect(differenceOf(view)).to.deep.equal([]);
  }

  it("should count nothing, and be marked", async () => {
    await book(reported(1, [], true), reported(2, [4_000n]), reported(3, []));
    expect(await changes()).to.deep.equal(["e1 1 1", "e2 1 0", "e3 1 0"]);
    expect(await movements()).to.deep.equal(["e2 new 40", "e3 churn -40"]);
    await expectAudited();
  });

  it("should pause what was paid before, at the rate it had", async () => {
    await book(reported(1, [4_000n]), reported(2, [], true), reported(3, [4_000n]));
    expect(await movements()).to.deep.equal(["e1 new 40", "e2 churn -40", "e3 reactivation 40"]);
    await expectAudited();
  });

  it("should be known of what a version before booked once that is replayed", async () => {
    await book(reported(1, []), reported(2, [4_000n]));
    const before = await movements();
    const replayed = [reported(1, [], true), reported(2, [4_000n])];
    await book(...replayed);
    expect(await changes()).to.deep.equal(["e1 1 0", "e1 2 1", "e2 1 0"]);
    expect(await movements()).to.deep.equal(before);
    await book(...replayed);
    expect(await changes()).to.have.length(3);
    await expectAudited();
  });
});
