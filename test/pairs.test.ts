import { expect } from "chai";
import { bookAnonymous } from "../processors/anonymous.js";
import { bySideReceipt, Pairing, type Side } from "../processors/pairing.js";
import type { Fact } from "../schemas/records.js";
import { openTestClickHouse } from "./stores.js";

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
  }));
}

function pair(all: readonly Side[]): { ends: Map<string, string>; waiting: readonly Side[] } {
  const pairing = new Pairing();
  for (const side of all) pairing.add(side);
  const { ends, waiting } = pairing;
  return { ends: new Map([...ends].map(([start, at]) => [start.fact_id, at])), waiting };
}

describe("Anonymous churns", () => {
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
      const told = [...ends].map(([start, at]) => `${start}@${Number(at.slice(18, 19))}`);
      expect(told).to.have.members(ended);
      expect(told).to.have.length(ended.length);
      expect(waiting.map(({ fact_id }) => fact_id)).to.deep.equal(waits);
    });
  }

  it("should end a named subscription under the account of its newest start", () => {
    const { ends, waiting } = pair(sides("+1 +3 -5 -6", '["named","custom","s"]'));
    expect([...ends]).to.deep.equal([["+3", "2026-01-01 00:00:05.000"]]);
    expect(waiting).to.deep.equal([]);
  });

  it("should tell which ends each side moves, when added in order of receipt", () => {
    const pairing = new Pairing();
    const moved = sides("-6 +3 -5 +1")
      .toSorted(bySideReceipt)
      .map((side) =>
        pairing
          .add(side)
          .map(({ fact_id }) => fact_id)
          .sort(),
      );
    expect(moved).to.deep.equal([[], ["+3"], ["+3"], ["+1", "+3"]]);
  });
});

describe("Booking an anonymous churn", () => {
  const workspace = `ws_pairs_${process.pid}_${Date.now()}`;
  const sideFact = (name: string, side: "start" | "churn", second: number): Fact => ({
    fact_id: `${workspace}:${name}`,
    event_id: name,
    workspace,
    environment: "live",
    provider: "custom",
    partition: 0,
    offset: 0n,
    native_type: "",
    received_at: second * 1000,
    happened_at: second * 1000,
    base_currency: "EUR",
    replay: false,
    backfill: false,
    quote: null,
    body: {
      Anonymous: { pool: "pool", side, at: second * 1000, subscription: name, account: name },
    },
  });

  it("should touch the account it ends again after a crash, though the end is stored", async () => {
    const clickhouse = await openTestClickHouse();
    expect(await bookAnonymous(clickhouse, [sideFact("start", "start", 1)])).to.deep.equal([]);
    const churn = [sideFact("churn", "churn", 2)];
    const told = async () =>
      (await bookAnonymous(clickhouse, churn)).map(({ account, event_id }) => [account, event_id]);
    expect(await told()).to.deep.equal([["start", "churn"]]);
    expect(await told(), "again").to.deep.equal([["start", "churn"]]);
    // One before it, received after it, takes its place: movements of both are to be told.
    churn.push({ ...sideFact("before", "churn", 1.5), received_at: 3_000 });
    expect(await told(), "with another").to.deep.include(["start", "churn"]);
    expect(await told(), "and again").to.deep.include(["start", "churn"]);
  });
});
