/** Subscriptions that go to another account: of one at a time, whatever was reported first. */
import { randomUUID } from "node:crypto";
import { expect } from "chai";
import * as fc from "fast-check";
import { rowsOf } from "../../../api/reading/reading.js";
import { sumMovementsSql } from "../../../api/reading/movements.js";
import { asOfParams, type Query } from "../../../api/reading/query.js";
import type { AsOf } from "../../../api/reading/as-of.js";
import { fromClickhouseTime } from "../../../stores/clickhouse/rows.js";
import type { ClickHouse } from "../../../stores/clickhouse/clickhouse.js";
import type { LmdbLog } from "../../../stores/log/lmdb/lmdb-log.js";
import { listRejects } from "../../../workspaces/rejects/rejects.js";
import { commands } from "../../../ops/commands.js";
import { audit } from "../../../processors/audit/audit.js";
import { rebuild } from "../../../processors/audit/rebuild.js";
import {
  insertChanges,
  subscriptionChange,
} from "../../../processors/book/subscriptions/changes.js";
import { transferEnds } from "../../../processors/book/subscriptions/transfer-rules.js";
import { recordMovements } from "../../../processors/book/subscriptions/movements.js";
import { movementCodec, topics, type Fact } from "../../../schemas/records/records.js";
import { openEndpoints } from "../../harness/endpoints.js";
import { type Booking, bookingOver } from "../../harness/booking.js";
import { factOf } from "../../harness/facts.js";
import { quoteOf, subscription } from "../../harness/fact-bodies.js";
import { openTestClickHouse, openTestLog } from "../../harness/stores.js";
import type { Change } from "../../../schemas/subscriptions/change.js";

const happened = Date.parse("2026-03-10T12:00:00Z");
const received = Date.parse("2026-03-20T12:00:00Z");

/**
 * One change: whose, at which second, what it is worth from then on (`0`: ended), as the `order`th
 * that was received. `b5=20` is b's at second 5 for 20.
 */
interface Line {
  readonly account: string;
  readonly second: number;
  readonly mrr: bigint;
  readonly order: number;
}

/** In order of receipt. */
function linesOf(text: string): Line[] {
  return text.split(" ").map((word, index) => {
    const [, account = "", second = "", mrr = ""] = /^([a-z])(\d+)=(\d+)$/.exec(word) ?? [];
    return { account, second: Number(second), mrr: BigInt(mrr), order: index + 1 };
  });
}

/** By hand: the newest line of the moments up to `second` says whose it is and what it is worth. */
function heldAt(lines: readonly Line[], second: number): Record<string, number> {
  const last = lines
    .filter((line) => line.second <= second)
    .toSorted((a, b) => a.second - b.second || rank(a) - rank(b) || a.order - b.order)
    .at(-1);
  return last === undefined || last.mrr === 0n ? {} : { [last.account]: Number(last.mrr) };
}

const secondsOf = Array.from({ length: 10 }, (_, second) => second);
const rank = ({ mrr }: Line) => (mrr === 0n ? 2 : 1);

describe("Ends of a subscription that is reported under another account", () => {
  const cases: readonly (readonly [reported: string, ends: readonly string[]])[] = [
    ["a1=10 a5=10", []],
    ["a1=10 b5=10", ["a@5"]],
    ["b5=10 a1=10", ["a@5"]],
    ["a1=10 b5=0", ["a@5"]],
    ["a1=10 b5=10 b6=10 b7=10", ["a@5"]],
    ["a1=10 b5=10 a9=10", ["a@5", "b@9"]],
    ["a1=10 b5=10 c9=10", ["a@5", "b@9"]],
    // What was known before the second change of b came must go on ending at the first.
    ["a1=10 b5=10 b3=10", ["a@5", "a@3"]],
    ["a1=10 b5=10 a3=10", ["a@5"]],
    ["a1=10 b5=10 c3=10", ["a@5", "a@3", "c@5"]],
  ];
  for (const [text, expected] of cases) {
    it(`should be ${expected.join(" ") || "none"}: ${text}`, () => {
      const reported = linesOf(text).map((line) => changeOf("w", line));
      for (const order of [reported, reported.toReversed()]) {
        const ends = transferEnds(order);
        const shown = ends.map(({ account, at }) => `${account}@${Number(at.slice(17, 19))}`);
        expect(shown).to.have.members(expected);
        expect(shown).to.have.length(expected.length);
      }
    });
  }
});

describe("A subscription that changes its account", () => {
  let clickhouse: ClickHouse;
  let log: LmdbLog;
  let booking: Booking;
  let workspace: string;
  before(async () => {
    clickhouse = await openTestClickHouse();
    log = openTestLog("transfers");
    booking = bookingOver(clickhouse, log);
  });
  beforeEach(() => {
    workspace = `ws_${randomUUID()}`;
  });

  /** @param later seconds after its first delivery */
  async function book(lines: readonly Line[], later = 0): Promise<void> {
    const facts = lines.map((line) => {
      const fact = factOfLine(workspace, line);
      return { ...fact, received_at: fact.received_at + later * 1000 };
    });
    await booking.book(facts);
  }

  /** For each second whose MRR there was, as known after so many lines. */
  async function held(order: number): Promise<Record<string, number>[]> {
    const rows = await rowsOf<{ account: string; at: string; mrr: string }>(
      { clickhouse },
      byAccount({
        workspace,
        environment: "live",
        at: received,
        knownAt: received + order * 1000,
      }),
    );
    return secondsOf.map((second) => {
      const worth: Record<string, number> = {};
      for (const { account, at, mrr } of rows) {
        if (fromClickhouseTime(at) > happened + second * 1000) continue;
        worth[account] = (worth[account] ?? 0) + Number(mrr);
      }
      return Object.fromEntries(Object.entries(worth).filter(([, mrr]) => mrr !== 0));
    });
  }

  async function expectHeld(lines: readonly Line[]): Promise<void> {
    for (const { order } of lines) {
      const known = lines.slice(0, order);
      const should = secondsOf.map((second) => heldAt(known, second));
      expect(await held(order), `as known after ${order}`).to.deep.equal(should);
    }
  }

  async function kinds(): Promise<string[]> {
    const rows = await clickhouse.rows<{ account: string; kind: string; second: number }>(
      `SELECT account, kind, toUInt32(toSecond(at)) AS second FROM mrr_movements
       WHERE workspace = {workspace:String} GROUP BY account, kind, at HAVING sum(mrr) != 0
       ORDER BY at, account`,
      { workspace },
    );
    return rows.map(({ account, kind, second }) => `${account}${second} ${kind}`);
  }

  it("should churn there and begin here, and come back as a reactivation", async () => {
    for (const line of linesOf("a1=10 b3=10 b5=10 a7=10")) await book([line]);
    expect(await kinds()).to.deep.equal([
      "a1 new",
      "a3 churn",
      "b3 new",
      "a7 reactivation",
      "b7 churn",
    ]);
  });

  it("should count once in any order of arrival, together or apart, as known at any time", () => {
    const line = fc.record({
      account: fc.constantFrom("a", "a", "b", "b", "c"),
      second: fc.nat(5),
      mrr: fc.constantFrom(10n, 10n, 20n, 0n),
      place: fc.nat(),
      isLastOfBatch: fc.boolean(),
    });
    return fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 2, maxLength: 6 }), async (drawn) => {
        workspace = `ws_${randomUUID()}`;
        const lines = drawn.map((each, index) => ({ ...each, order: index + 1 }));
        let batch: Line[] = [];
        const arriving = lines.toSorted((one, other) => one.place - other.place);
        for (const each of arriving) {
          batch.push(each);
          if (!each.isLastOfBatch) continue;
          await book(batch);
          batch = [];
        }
        await book(batch);
        await expectHeld(lines);
        expect(await differences()).to.deep.equal([0, 0]);
      }),
      { numRuns: 10 },
    );
  });

  it("should convert the price anew under each account, and when it comes back", async () => {
    for (const line of linesOf("a1=10 b3=10 b4=10 a5=10")) {
      const { quote, ...fact } = factOfLine(workspace, line);
      await booking.book([{ ...fact, quote: quote && { ...quote, rate: String(line.order) } }]);
    }
    const worth = (await held(4)).map((each) => JSON.stringify(each));
    expect([...new Set(worth)]).to.deep.equal(["{}", '{"a":10}', '{"b":20}', '{"a":40}']);
  });

  it("should report each movement once, and another delivery of the event nothing", async () => {
    const lines = linesOf("a1=10 b3=10 b5=10");
    for (const line of lines) await book([line]);
    await book(lines.slice(1, 2), 9);
    const records = await log.read(topics.movements, 0, 0n, 10_000);
    const reported = records
      .map(({ value }) => movementCodec.decode(value))
      .filter((movement) => movement.workspace === workspace)
      .map(({ account, kind, event_id: event }) => `${account} ${kind} ${event}`);
    expect(reported).to.have.members(["a new e01", "a churn e02", "b new e02"]);
  });

  it("should mend by an audit what was booked twice before", async () => {
    const lines = linesOf("a1=10 b3=10 b5=20 c7=20 c9=0");
    const changes = lines.map((line) => changeOf(workspace, line));
    await insertChanges(clickhouse, changes);
    await recordMovements(clickhouse, changes, clickhouse.isShared);
    expect((await held(5)).at(-1), "as it was").to.deep.equal({ a: 10, b: 20 });
    expect(await differences()).to.deep.equal([2, 0]);
    await differences(true);
    await expectHeld(lines);
    expect(await differences()).to.deep.equal([0, 0]);
  });

  it("should mend by a rebuild, too, which says so", async () => {
    const { service, workspace: made } = await openEndpoints();
    workspace = made;
    const lines = linesOf("a1=10 b3=10 b5=20 c7=20 c9=0");
    const changes = lines.map((line) => changeOf(workspace, line));
    await insertChanges(clickhouse, changes);
    await recordMovements(clickhouse, changes, clickhouse.isShared);
    const reported: string[] = [];
    const code = await commands.rebuild.run({
      config: service.config,
      options: { workspace },
      steps: {
        audit,
        rebuild,
        startProcessors: async () => {},
        writeQueued: async () => {},
      },
      open: async () => service,
      close: async () => {},
      report: (line) => reported.push(line),
    });
    expect(code).to.equal(0);
    expect(reported).to.include("Ended subscriptions that had gone to another account (2).");
    await expectHeld(lines);
    expect(await differences()).to.deep.equal([0, 0]);
  });

  it("should end what a webhook began by a churn that names its subscription alone", async () => {
    const [start, churn] = linesOf("a1=10 z5=0");
    if (start === undefined || churn === undefined) throw new Error("no lines");
    await book([start]);
    const end = factOfLine(workspace, churn);
    const pool = JSON.stringify(["named", end.provider, "s"]);
    const at = happened + churn.second * 1000;
    const named = { pool, side: "churn", at, subscription: "s", account: "z" } as const;
    await booking.book([{ ...end, fact_id: "f02a", body: { Unidentified: named } }, end]);
    await expectHeld([start, churn]);
    expect(await listRejects(clickhouse, { workspace, state: "open" }, null, 10)).to.eql([]);
  });

  it("should mend when it is booked again", async () => {
    const lines = linesOf("a1=10 b3=10 a5=20");
    const changes = lines.map((line) => changeOf(workspace, line));
    await insertChanges(clickhouse, changes);
    await recordMovements(clickhouse, changes, clickhouse.isShared);
    await book(lines);
    await expectHeld(lines);
  });

  /** Of changes and of movements. */
  async function differences(repair = false): Promise<number[]> {
    const watermark = { completeTo: async () => received + 60_000 };
    const findings = await audit(
      { clickhouse, ...noState, watermark },
      { workspace, repair, shareMax: 1 },
    );
    return (["subscription_changes", "mrr_movements"] as const).map(
      (table) => findings.find((finding) => finding.table === table)?.differences ?? NaN,
    );
  }
});

/** The changes here are in the tables alone. */
const noState = {
  log: { ends: async () => [] },
  state: { async *values() {} },
};

function byAccount(asOf: AsOf): Query {
  return { sql: sumMovementsSql(["account", "at"], "none", asOf), params: asOfParams(asOf) };
}

function changeOf(workspace: string, line: Line): Change {
  const change = subscriptionChange(factOfLine(workspace, line));
  if (change === null) throw new Error("no change");
  return change;
}

function factOfLine(workspace: string, { account, second, mrr, order }: Line): Fact {
  const at = happened + second * 1000;
  const hasEnded = mrr === 0n;
  const name = String(order).padStart(2, "0");
  return factOf(
    subscription(at, hasEnded ? [] : [mrr * 100n], {
      account,
      phase: hasEnded ? "ended" : "changed",
    }),
    {
      fact_id: `f${name}`,
      event_id: `e${name}`,
      workspace,
      provider: "revenuecat",
      received_at: received + order * 1000,
      quote: quoteOf(),
    },
  );
}
