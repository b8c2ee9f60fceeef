/** Free trials as booking keeps them: found without reading what all changes are worth. */
import { expect } from "chai";
import { differenceOf } from "../../../processors/book/account/recorded.js";
import { viewOf } from "../../../processors/book/subscriptions/movements.js";
import type { Fact } from "../../../schemas/records/records.js";
import { suiteBooking } from "../../harness/booking.js";
import { quoteOf, subscription } from "../../harness/fact-bodies.js";
import { factOf } from "../../harness/facts.js";

describe("Free trials", () => {
  const here = suiteBooking("trials");

  function reported(second: number, cents: readonly bigint[], isTrial = false): Fact {
    const at = 1_780_000_000_000 + second * 1_000;
    const body = subscription(at, cents, isTrial ? { trial: true } : {});
    const event = {
      fact_id: `e${second}:0`,
      event_id: `e${second}`,
      workspace: here.workspace,
      received_at: at,
    };
    return factOf(body, { ...event, quote: quoteOf() });
  }

  const changes = async () => {
    const rows = await here.rows<{ what: string }>(
      `SELECT concat(event_id, ' ', toString(revision), ' ', toString(trial)) AS what
       FROM subscription_changes WHERE workspace = {workspace:String} AND subscription != ''
       ORDER BY event_id, revision`,
    );
    return rows.map(({ what }) => what);
  };
  const movements = async () => {
    const rows = await here.rows<{ what: string }>(
      `SELECT concat(event_id, ' ', kind, ' ', toString(mrr)) AS what FROM mrr_movements
       WHERE workspace = {workspace:String} AND mrr != 0 ORDER BY event_id, kind, mrr`,
    );
    return rows.map(({ what }) => what);
  };
  async function expectAudited(): Promise<void> {
    const view = await viewOf(here.clickhouse, `workspace = '${here.workspace}'`);
    expect(differenceOf(view)).to.deep.equal([]);
  }

  it("should count nothing, and be marked", async () => {
    await here.book(reported(1, [], true), reported(2, [4_000n]), reported(3, []));
    expect(await changes()).to.deep.equal(["e1 1 1", "e2 1 0", "e3 1 0"]);
    expect(await movements()).to.deep.equal(["e2 new 40", "e3 churn -40"]);
    await expectAudited();
  });

  it("should pause what was paid before, at the rate it had", async () => {
    await here.book(reported(1, [4_000n]), reported(2, [], true), reported(3, [4_000n]));
    expect(await movements()).to.deep.equal(["e1 new 40", "e2 churn -40", "e3 reactivation 40"]);
    await expectAudited();
  });

  it("should be known of what a version before booked once that is replayed", async () => {
    await here.book(reported(1, []), reported(2, [4_000n]));
    const before = await movements();
    const replayed = [reported(1, [], true), reported(2, [4_000n])];
    await here.book(...replayed);
    expect(await changes()).to.deep.equal(["e1 1 0", "e1 2 1", "e2 1 0"]);
    expect(await movements()).to.deep.equal(before);
    await here.book(...replayed);
    expect(await changes()).to.have.length(3);
    await expectAudited();
  });
});
