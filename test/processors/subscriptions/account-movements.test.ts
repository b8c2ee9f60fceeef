/** What is recorded of an account under each event, whatever order they come in. */
import { expect } from "chai";
import * as fc from "fast-check";
import { clickhouseTime } from "../../../stores/clickhouse/rows.js";
import {
  accountMovements,
  type MovementRow,
} from "../../../processors/book/account/account-movements.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { mrrOf } from "../../../schemas/money/monthly.js";

const begun = Date.parse("2026-03-01T00:00:00Z");
const secondMs = 1000;

interface Told {
  /** Second it happened, and second it was received. */
  readonly at: number;
  readonly received: number;
  readonly subscription: string;
  readonly phase: Change["phase"];
  readonly items: Change["steps"][number]["items"];
}

function changeOf({ at, received, subscription, phase, items }: Told, event: number): Change {
  const time = clickhouseTime(begun + at * secondMs);
  return {
    workspace: "ws",
    environment: "live",
    account: "account",
    provider: "stripe",
    subscription,
    // Of one moment the greater event id counts, so it goes by the place in the list.
    change_id: `e${String(event).padStart(3, "0")}:0`,
    event_id: `e${String(event).padStart(3, "0")}`,
    revision: 1,
    void: 0,
    at: time,
    phase,
    recorded_at: clickhouseTime(begun + received * secondMs),
    currency: "EUR",
    country: "",
    steps: [{ at: time, items }],
  };
}

/**
 * `team 40` is 40 euros for the SKU `team`; `team 40 USD` a price in dollars, worth 40 euros;
 * `team 40 EUR year` one that is paid by the year.
 */
function itemsOf(text: string): Told["items"] {
  if (text === "-") return [];
  return text.split(", ").map((each, index) => {
    const [sku = "", mrr = "0", currency = "EUR", interval] = each.split(" ");
    const price = `${currency}:${mrr}/1${interval === undefined ? "" : `:${interval}`}`;
    return { item: `i${index}`, external_id: sku, price, mrr };
  });
}

/** `second subscription: items`, received in the order of the list. */
function told(lines: readonly string[]): Change[] {
  return lines.map((line, index) => {
    const [, at = "", subscription = "", items = ""] = /^(\d+) (\w+): (.*)$/.exec(line) ?? [];
    const phase = items === "-" ? "ended" : "changed";
    const change = { subscription, phase, items: itemsOf(items) } as const;
    return changeOf({ ...change, at: Number(at), received: 100 + index }, index);
  });
}

function rowsOf(changes: readonly Change[]): MovementRow[] {
  return [...accountMovements(changes)].flat();
}

function shown(rows: readonly MovementRow[]): string[] {
  return rows.map((row) => {
    const { plan_interval: interval } = row;
    const place = [row.subscription, row.external_id, row.currency];
    if (interval !== "unknown") place.push(interval);
    return `${row.event_id} ${row.kind} ${place.join("/")} ${Number(row.mrr)}`;
  });
}

describe("The movements of an account", () => {
  const cases: readonly [what: string, changes: string[], rows: string[]][] = [
    [
      "an upgrade to another product: the old price is switched, the rest is an expansion",
      ["0 s: team 40", "5 s: business 100"],
      [
        "e000 new s/team/EUR 40",
        "e001 expansion s/business/EUR 60",
        "e001 switch s/business/EUR 40",
        "e001 switch s/team/EUR -40",
      ],
    ],
    [
      "a downgrade: the new price is switched, the rest is a contraction",
      ["0 s: team 40", "5 s: solo 10"],
      [
        "e000 new s/team/EUR 40",
        "e001 contraction s/team/EUR -30",
        "e001 switch s/team/EUR -10",
        "e001 switch s/solo/EUR 10",
      ],
    ],
    [
      "the same price in another currency is a switch alone",
      ["0 s: team 40", "5 s: team 40 USD"],
      ["e000 new s/team/EUR 40", "e001 switch s/team/EUR -40", "e001 switch s/team/USD 40"],
    ],
    [
      "another subscription of the same moment is new, too, and a further item an expansion",
      ["0 s: a 10, b 20", "0 t: c 5", "5 s: a 10, b 20, d 15"],
      [
        "e000 new s/b/EUR 20",
        "e000 new s/a/EUR 10",
        // Received later, of the same moment.
        "e001 new t/c/EUR 5",
        "e002 expansion s/d/EUR 15",
      ],
    ],
    [
      "gains that share what one loses, in proportion",
      ["0 s: a 30", "5 s: b 30, c 60"],
      [
        "e000 new s/a/EUR 30",
        "e001 expansion s/c/EUR 40",
        "e001 switch s/c/EUR 20",
        "e001 expansion s/b/EUR 20",
        "e001 switch s/b/EUR 10",
        "e001 switch s/a/EUR -30",
      ],
    ],
    [
      "an end is a churn, and coming back a reactivation",
      ["0 s: a 10", "5 s: -", "9 s: a 10"],
      ["e000 new s/a/EUR 10", "e001 churn s/a/EUR -10", "e002 reactivation s/a/EUR 10"],
    ],
    [
      "a plan paid by the year from now on, for less a month: switched, the rest a contraction",
      ["0 s: team 40 EUR month", "5 s: team 30 EUR year"],
      [
        "e000 new s/team/EUR/month 40",
        "e001 contraction s/team/EUR/month -10",
        "e001 switch s/team/EUR/month -30",
        "e001 switch s/team/EUR/year 30",
      ],
    ],
    [
      "another interval of the same price moves nothing: the first reading of it counts",
      ["0 s: team 40 EUR month", "5 s: team 40 EUR quarter", "9 s: team 60 EUR quarter"],
      [
        "e000 new s/team/EUR/month 40",
        "e002 expansion s/team/EUR/quarter 20",
        "e002 switch s/team/EUR/quarter 40",
        "e002 switch s/team/EUR/month -40",
      ],
    ],
    [
      "a price whose interval becomes known stays where it is until it changes",
      ["0 s: team 40", "5 s: team 40 EUR year", "9 s: -"],
      ["e000 new s/team/EUR 40", "e002 churn s/team/EUR -40"],
    ],
    [
      "after an end the price begins anew, and its interval with it",
      ["0 s: team 40 EUR year", "5 s: -", "9 s: team 40 EUR month"],
      [
        "e000 new s/team/EUR/year 40",
        "e001 churn s/team/EUR/year -40",
        "e002 reactivation s/team/EUR/month 40",
      ],
    ],
    [
      "SKUs share a contraction as if there were no intervals, then the intervals of one do",
      ["0 s: a 10 EUR month, b 8 EUR month", "5 s: a 15 EUR year"],
      [
        "e000 new s/a/EUR/month 10",
        "e000 new s/b/EUR/month 8",
        "e001 switch s/a/EUR/year 15",
        "e001 switch s/a/EUR/month -10",
        "e001 contraction s/b/EUR/month -3",
        "e001 switch s/b/EUR/month -5",
      ],
    ],
    [
      "intervals that trade places are a switch alone",
      ["0 s: a 10 EUR month, a 5 EUR year", "5 s: a 5 EUR month, a 10 EUR year"],
      [
        "e000 new s/a/EUR/month 10",
        "e000 new s/a/EUR/year 5",
        "e001 switch s/a/EUR/month -5",
        "e001 switch s/a/EUR/year 5",
      ],
    ],
  ];
  for (const [what, changes, rows] of cases) {
    it(`should be recorded under the event that caused them: ${what}`, () => {
      expect(shown(rowsOf(told(changes)))).to.have.members(rows);
    });
  }

  it("should be corrected under the later events where an earlier one comes late", () => {
    const changes = told(["0 s: a 10", "5 s: a 30", "9 s: -"]);
    const [first, second, third] = changes;
    if (first === undefined || second === undefined || third === undefined) expect.fail();
    const without = rowsOf([first, third]);
    expect(shown(without)).to.have.members(["e000 new s/a/EUR 10", "e002 churn s/a/EUR -10"]);
    expect(shown(rowsOf(changes))).to.have.members([
      "e000 new s/a/EUR 10",
      "e001 expansion s/a/EUR 20",
      "e002 churn s/a/EUR -30",
    ]);
  });

  it("should take the interval of the earliest reading of a price, received first or last", () => {
    const changes = told(["0 s: team 40 EUR year", "5 s: team 40 EUR month", "9 s: -"]);
    const [first, second, third] = changes;
    if (first === undefined || second === undefined || third === undefined) expect.fail();
    const late = { ...first, recorded_at: clickhouseTime(begun + 200 * secondMs) };
    expect(sumsOf(rowsOf([late, second, third]))).to.deep.equal(sumsOf(rowsOf(changes)));
    expect(shown(rowsOf([late, second, third]))).to.have.members([
      "e001 new s/team/EUR/month 40",
      "e002 churn s/team/EUR/month -40",
      "e000 new s/team/EUR/month -40",
      "e000 churn s/team/EUR/month 40",
      "e000 new s/team/EUR/year 40",
      "e000 churn s/team/EUR/year -40",
    ]);
  });

  const someItems = fc
    .uniqueArray(
      fc.record({
        item: fc.constantFrom("i1", "i2", "i3"),
        sku: fc.constantFrom("a", "b"),
        cents: fc.integer({ min: 1, max: 4 }),
        currency: fc.constantFrom("EUR", "EUR", "USD"),
        rate: fc.integer({ min: 1, max: 3 }),
        interval: fc.constantFrom("", ":month", ":year"),
      }),
      { maxLength: 3, selector: ({ item }) => item },
    )
    .map((items) =>
      items.map(({ item, sku, cents, currency, rate, interval }) => ({
        item,
        external_id: sku,
        price: `${currency}:${cents}/1${interval}`,
        mrr: `${cents}.${rate}33333`,
      })),
    );
  const someChange = fc.record({
    at: fc.nat(6),
    received: fc.nat(20),
    subscription: fc.constantFrom("s", "t"),
    phase: fc.constantFrom<Change["phase"]>("started", "changed", "changed", "ended"),
    items: someItems,
  });
  const someChanges = fc
    .array(someChange, { minLength: 1, maxLength: 10 })
    .map((some) =>
      some.map((each, index) =>
        changeOf({ ...each, items: each.phase === "ended" ? [] : each.items }, index),
      ),
    );

  it("should add up to the same in whatever order the events came", () => {
    fc.assert(
      fc.property(someChanges, (changes) => {
        const inTime = changes.map((change) => ({ ...change, recorded_at: change.at }));
        expect(sumsOf(rowsOf(changes))).to.deep.equal(sumsOf(rowsOf(inTime)));
      }),
      { numRuns: 500 },
    );
  });

  it("should be without intervals what they are where nobody reports any", () => {
    fc.assert(
      fc.property(someChanges, (changes) => {
        const unreported = changes.map((change) => ({
          ...change,
          steps: change.steps.map((step) => ({
            ...step,
            items: step.items.map((item) => ({
              ...item,
              price: item.price.replace(/:[a-z]+$/, ""),
            })),
          })),
        }));
        const merged = rowsOf(changes).map((row) => ({ ...row, plan_interval: "unknown" }));
        expect(sumsOf(merged)).to.deep.equal(sumsOf(rowsOf(unreported)));
      }),
      { numRuns: 500 },
    );
  });

  it("should have no sign its kind cannot have, and switch nothing in the whole", () => {
    fc.assert(
      fc.property(someChanges, (changes) => {
        const inTime = changes.map((change) => ({ ...change, recorded_at: change.at }));
        const sums = sumsOf(rowsOf(inTime));
        const switched = new Map<string, bigint>();
        for (const [place, { mrr }] of sums) {
          const [at = "", kind = ""] = place.split("|");
          if (kind === "switch") switched.set(at, (switched.get(at) ?? 0n) + mrr);
          else expect(mrr > 0n, place).to.equal(!["contraction", "churn"].includes(kind));
        }
        expect([...switched.values()].filter((sum) => sum !== 0n)).to.deep.equal([]);
      }),
      { numRuns: 500 },
    );
  });
});

/** By all but what caused them; what comes to nothing is left out. */
function sumsOf(rows: readonly MovementRow[]) {
  const sums = new Map<string, { mrr: bigint; accounts: number; subscriptions: number }>();
  for (const row of rows) {
    const { at, kind, subscription, external_id: sku, currency, country, vintage } = row;
    const place = [at, kind, subscription, sku, currency, country, vintage, row.plan_interval].join(
      "|",
    );
    const sum = sums.get(place) ?? { mrr: 0n, accounts: 0, subscriptions: 0 };
    sums.set(place, {
      mrr: sum.mrr + mrrOf(row.mrr),
      accounts: sum.accounts + row.accounts,
      subscriptions: sum.subscriptions + row.subscriptions,
    });
  }
  return new Map(
    [...sums]
      .filter(([, sum]) => sum.mrr !== 0n || sum.accounts !== 0 || sum.subscriptions !== 0)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
