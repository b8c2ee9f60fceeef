import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { listRejects } from "../../../workspaces/rejects/rejects.js";
import {
  bySideReceipt,
  Pairing,
  type Side,
} from "../../../processors/book/subscriptions/pairing.js";
import type { Fact } from "../../../schemas/records/records.js";
import { type Booking, bookingOver } from "../../harness/booking.js";
import { factOf } from "../../harness/facts.js";
import { openTestClickHouse, openTestLog } from "../../harness/stores.js";

/** `+2` a start at second 2, `-5` a churn at second 5. */
function sides(text: string, pool = "pool"): Side[] {
  return text.split(" ").map((word, index) => ({
    workspace: "w",
    environment: "live",
    pool,
    provider: "custom",
    subscription: `s${index}`,
    account: "a",
    event_id: `e${index}`,
    recorded_at: `2026-02-01 00:00:0${index}.000`,
    fact_id: word,
    side: word.startsWith("+") ? "start" : "churn",
    at: `2026-01-01 00:00:0${word.slice(1)}.000`,
    native_type: "",
    partition: 0,
    offset: "0",
  }));
}

function pair(all: readonly Side[]): { ends: Map<string, string>; waiting: readonly Side[] } {
  const pairing = new Pairing();
  for (const side of all) pairing.add(side);
  const { ends, waiting } = pairing;
  return { ends: new Map([...ends].map(([start, at]) => [start.fact_id, at])), waiting };
}

describe("Unidentified churns", () => {
  const cases: [string, string, string[], string[]][] = [
    ["end the oldest open subscription", "+1 +2 -5", ["+1@5"], []],
    ["end one each, in order of time", "+1 +2 -5 -6", ["+1@5", "+2@6"], []],
    ["wait without a partner", "-5", [], ["-5"]],
    ["wait when the start comes later in time", "-5 +6", [], ["-5"]],
    ["end a start of the same moment", "-5 +5", ["+5@5"], []],
    ["pair the same whatever the order of arrival", "-6 -5 +2 +1", ["+1@5", "+2@6"], []],
    ["leave what is not ended open", "+1 +2 +3 -4", ["+1@4"], []],
  ];
  for (const [title, text, ended, waits] of cases) {
    it(`should ${title}: ${text}`, () => {
      const { ends, waiting } = pair(sides(text));
      const reported = [...ends].map(([start, at]) => `${start}@${Number(at.slice(18, 19))}`);
      expect(reported).to.have.members(ended);
      expect(reported).to.have.length(ended.length);
      expect(waiting.map(({ fact_id }) => fact_id)).to.deep.equal(waits);
    });
  }

  it("should end a named subscription under the account of its newest start", () => {
    const { ends, waiting } = pair(sides("+1 +3 -5 -6", '["named","custom","s"]'));
    expect([...ends]).to.deep.equal([["+3", "2026-01-01 00:00:05.000"]]);
    expect(waiting).to.deep.equal([]);
  });

  it("should say which ends each side moves, when added in order of receipt", () => {
    const pairing = new Pairing();
    const moved = sides("-6 +3 -5 +1")
      .toSorted(bySideReceipt)
      .map((side) => {
        pairing.add(side);
        return pairing
          .moved()
          .map(({ fact_id }) => fact_id)
          .sort();
      });
    expect(moved).to.deep.equal([[], ["+3"], ["+3"], ["+1", "+3"]]);
  });
});

describe("Booking an unidentified churn", () => {
  let booking: Booking;
  let workspace = "";
  before(async () => {
    booking = bookingOver(await openTestClickHouse(), openTestLog("pairs"));
  });
  beforeEach(() => {
    workspace = `ws_pairs_${randomUUID()}`;
  });
  const sideFact = (name: string, side: "start" | "churn", second: number): Fact => {
    const at = second * 1000;
    const body = { pool: "pool", side, at, subscription: name, account: name };
    return factOf(
      { Unidentified: body },
      {
        fact_id: `${workspace}:${name}`,
        event_id: name,
        workspace,
        provider: "custom",
        native_type: "subscription.churn",
        received_at: at,
        happened_at: at,
      },
    );
  };

  it("should list a churn whose partner another took that came later", async () => {
    const clickhouse = await openTestClickHouse();
    const waiting = async () => {
      const rows = await listRejects(clickhouse, { workspace, state: "open" }, null, 10);
      return rows.map(({ event_id, reason, offset }) => [event_id, reason, offset]);
    };
    const churn = { ...sideFact("churn", "churn", 5), offset: 7n };
    await booking.book([sideFact("start", "start", 1), churn]);
    expect(await waiting()).to.eql([]);
    await booking.book([{ ...sideFact("before", "churn", 3), received_at: 6_000 }]);
    expect(await waiting()).to.eql([["churn", "no_open_subscription", "7"]]);
    await booking.book([{ ...sideFact("other", "start", 2), received_at: 7_000 }]);
    expect(await waiting()).to.eql([]);
  });

  it("should change nothing when a churn is sent again", async () => {
    const clickhouse = await openTestClickHouse();
    const rowsOf = (table: string) =>
      clickhouse.rows(`SELECT * FROM ${table} WHERE workspace = {workspace:String}`, { workspace });
    const churn = sideFact("churn", "churn", 5);
    await booking.book([sideFact("start", "start", 1), churn]);
    const before = await rowsOf("subscription_changes");
    expect(before).to.have.length(1);
    await booking.book([churn]);
    expect(await rowsOf("subscription_changes")).to.eql(before);
  });

  it("should book a long file that reports everything backwards", async () => {
    const clickhouse = await openTestClickHouse();
    const pairs = 1_000;
    const file = Array.from({ length: pairs }, (_, index) => {
      const second = 2 * (pairs - index);
      return [
        sideFact(`churn${second}`, "churn", second + 0.5),
        sideFact(`${second}`, "start", second),
      ];
    }).flat();
    const received = file.map((fact) => ({ ...fact, received_at: 1e7 }));
    await booking.book(received);
    const [ends] = await clickhouse.rows(
      `SELECT toUInt32(count()) AS ends, toUInt32(uniqExact(change_id)) AS subscriptions,
              toUInt32(countIf(toUnixTimestamp64Milli(at) = 1000 * toFloat64(account) + 500)) AS own
       FROM subscription_changes WHERE workspace = {workspace:String}`,
      { workspace },
    );
    expect(ends).to.eql({ ends: pairs, subscriptions: pairs, own: pairs });
  });

  it("should bound what it makes of many calls that report everything backwards", async () => {
    const clickhouse = await openTestClickHouse();
    const callsMax = 2_000;
    const calls = Array.from({ length: callsMax }, (_, index) => {
      const side = index % 2 === 0 ? "churn" : "start";
      return {
        ...sideFact(`${callsMax - index}`, side, callsMax - index),
        received_at: 1e7 + index,
      };
    });
    await booking.book(calls);
    const rows = await clickhouse.rows<{ account: string; ended: number; void: number }>(
      `SELECT account, toUInt32(toUnixTimestamp(at)) AS ended, void FROM subscription_changes
       WHERE workspace = {workspace:String} ORDER BY revision DESC LIMIT 1 BY change_id`,
      { workspace },
    );
    expect(rows).to.have.length(callsMax / 2);
    const wrong = rows.filter((row) => row.void === 1 || row.ended !== Number(row.account) + 1);
    expect(wrong).to.eql([]);
  });
});
