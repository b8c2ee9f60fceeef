/**
 * One customer's history, and its MRR by each definition: a table to proofread against the pages of
 * `docs/definitions/`.
 */
import { expect } from "chai";
import { type DefinitionName, definitions } from "../../schemas/definitions/index.js";
import { compareAccount } from "../../schemas/definitions/definition.js";
import {
  type Fraction,
  exactMrr,
  monthlyFraction,
  monthlyToMrr,
} from "../../schemas/money/monthly.js";
import { type StateChange, accountStateAt } from "../../schemas/subscriptions/account-state.js";
import { readPrice } from "../../schemas/subscriptions/change.js";

/** MRR is asked for at this moment, in EUR; the dollar was worth 0.80 that day. */
const at = "2026-10-20 12:00:00.000";
const rateThen = "0.80";

const names = ["ours", "stripe", "chartmogul", "profitwell", "revenuecat"] as const;

/**
 * `MM-DD[ subscription]: what`. A price is `30 month`, in dollars `30 month USD 0.90` with the rate
 * of its change; `, then 40 month from 12-01` is what an announced end of a discount makes of it.
 */
const cases: readonly [what: string, history: string[], mrr: string][] = [
  // Ours | Stripe | ChartMogul | ProfitWell | RevenueCat
  ["a price of a month", ["09-01: 30 month"], "30 | 30 | 30 | 30 | 30"],
  ["a price of a year", ["09-01: 120 year"], "10 | 10 | 10 | 10 | 10"],
  ["a price of a week", ["09-01: 12 week"], "52 | 52 | 52 | 52 | 48"],
  ["a trial", ["10-15: nothing"], "0 | 0 | 0 | 0 | 0"],
  ["a trial that became paid", ["09-01: nothing", "09-15: 30 month"], "30 | 30 | 30 | 30 | 30"],
  // Reported as it was: only what comes after it (unpaid, cancelled) says anything else.
  ["past due", ["09-01: 30 month", "10-01: 30 month"], "30 | 30 | 30 | 30 | 30"],
  ["past due, then unpaid", ["09-01: 30 month", "10-01: nothing"], "0 | 0 | 30 | 0 | 0"],
  ["past due, then cancelled", ["09-01: 30 month", "10-01: ended"], "0 | 0 | 0 | 0 | 0"],
  ["a discount once is not kept", ["09-01: 30 month"], "30 | 30 | 30 | 30 | 30"],
  [
    "a discount of some months",
    ["09-01: 20 month, then 30 month from 12-01"],
    "20 | 30 | 20 | 20 | 20",
  ],
  [
    "a discount that has ended",
    ["09-01: 20 month, then 30 month from 10-01"],
    "30 | 30 | 30 | 30 | 30",
  ],
  [
    "a discount of 100 % for some months is no pause",
    ["08-01: 30 month", "09-01: nothing, then 30 month from 12-01"],
    "0 | 30 | 0 | 0 | 0",
  ],
  ["a refund", ["09-01: 30 month", "10-05: refunded"], "30 | 30 | 30 | 30 | 0"],
  [
    "a refund of a year that ends at once",
    ["09-01: 120 year", "10-05: refunded", "10-05: ended"],
    "0 | 0 | 0 | 0 | 0",
  ],
  [
    "an upgrade to a year in the midst of a month",
    ["09-01: 12 month", "10-10: 120 year"],
    "10 | 10 | 10 | 10 | 10",
  ],
  ["a pause", ["09-01: 30 month", "10-10: nothing"], "0 | 0 | 30 | 0 | 0"],
  [
    "a pause that is over",
    ["09-01: 30 month", "09-10: nothing", "10-10: 30 month"],
    "30 | 30 | 30 | 30 | 30",
  ],
  [
    "a currency that moved since the price was set",
    ["08-01: 100 month USD 0.90"],
    "90 | 80 | 90 | 90 | 90",
  ],
  [
    "a currency that moved until the renewal",
    ["08-01: 100 month USD 0.90", "10-01: 100 month USD 0.85"],
    "90 | 80 | 85 | 90 | 85",
  ],
  [
    "back after a month",
    ["08-01: 30 month", "09-01: ended", "10-01 b: 30 month"],
    "30 | 30 | 30 | 30 | 30",
  ],
  [
    "back after a year",
    ["01-01: 30 month", "02-01: ended", "10-01 b: 30 month"],
    "30 | 30 | 30 | 30 | 30",
  ],
  [
    "come and gone within a month, in between",
    ["10-05: 30 month", "10-25: ended"],
    "30 | 30 | 30 | 0 | 30",
  ],
  ["come, and gone the month after", ["10-05: 30 month", "11-05: ended"], "30 | 30 | 30 | 30 | 30"],
  [
    "back in this month and gone again: no first month",
    ["01-05: 30 month", "02-05: ended", "10-05 b: 30 month", "10-25 b: ended"],
    "30 | 30 | 30 | 30 | 30",
  ],
  [
    "two subscriptions, one of which pauses",
    ["09-01: 30 month", "09-01 b: 10 month", "10-10 b: nothing"],
    "30 | 30 | 40 | 30 | 30",
  ],
  [
    "several rules at once: a week in dollars, at a discount, renewed",
    [
      "08-01: 12 week USD 0.90, then 24 week from 12-01",
      "10-01: 12 week USD 0.75, then 24 week from 12-01",
    ],
    "46.8 | 83.2 | 39 | 46.8 | 36",
  ],
];

describe("The definitions of MRR", () => {
  for (const [what, history, expected] of cases) {
    it(`should differ as documented on ${what}`, () => {
      const found = names.map((name) => shown(mrrBy(name, history)));
      expect(found.join(" | ")).to.equal(expected);
    });
  }

  it("should each have cases in which they differ from ours, by each of their rules", () => {
    const found = new Set(
      names.flatMap((name) =>
        cases.flatMap(([, history]) => {
          const { differences } = comparison(name, history);
          return differences.map(({ rule }) => `${name} ${rule}`);
        }),
      ),
    );
    const rules = names.flatMap((name) => definitions[name].rules.map(({ id }) => `${name} ${id}`));
    expect([...found].toSorted()).to.deep.equal(rules.toSorted());
  });

  it("should not depend on the order in which changes are read", () => {
    for (const [, history] of cases) {
      const changes = changesOf(history);
      expect(accountStateAt(changes.toReversed(), at)).to.deep.equal(accountStateAt(changes, at));
    }
  });

  it("should take the newest revision of a change, and none that was taken back", () => {
    const [change] = changesOf(["09-01: 30 month"]);
    if (change === undefined) throw new Error("no change");
    const again: StateChange = { ...change, revision: 2, void: 1 };
    expect(accountStateAt([again, change], at).subscriptions).to.deep.equal([]);
  });
});

function mrrBy(name: DefinitionName, history: readonly string[]): bigint {
  const { ours, differences } = comparison(name, history);
  return differences.reduce((sum, { mrr }) => sum + mrr, ours);
}

function comparison(name: DefinitionName, history: readonly string[]) {
  return compareAccount(definitions[name], {
    account: accountStateAt(changesOf(history), at),
    rateOf: (currency) => (currency === "USD" ? rateThen : "1"),
    refunded: new Set(history.some((line) => line.endsWith("refunded")) ? ["plan"] : []),
  });
}

/** `30.000000` → `30` */
function shown(mrr: bigint): string {
  return String(Number(exactMrr(mrr)));
}

function changesOf(history: readonly string[]): StateChange[] {
  return history.flatMap((line, index) => {
    const [, day = "", subscription = "a", what = ""] =
      /^([\d-]+)(?: (\w+))?: (.*)$/.exec(line) ?? [];
    if (what === "refunded") return [];
    const time = `2026-${day} 00:00:00.000`;
    const [first = "", ...later] = what.split(", then ");
    return {
      provider: "stripe",
      subscription,
      change_id: `change ${index}`,
      event_id: `event ${index}`,
      recorded_at: time,
      revision: 1,
      void: 0,
      at: time,
      phase: what === "ended" ? "ended" : "changed",
      steps: [
        { at: time, items: itemsOf(first, first) },
        ...later.map((text) => {
          const [price = "", end = ""] = text.split(" from ");
          return { at: `2026-${end} 00:00:00.000`, items: itemsOf(price, first) };
        }),
      ],
    };
  });
}

/** @param whole of the change: it names currency and rate */
function itemsOf(text: string, whole: string): StateChange["steps"][number]["items"] {
  const [amount = "", interval = ""] = text.split(" ");
  if (interval === "") return [];
  const [, , currency = "EUR", rate = "1"] = whole.split(" ");
  const monthly = monthlyOf(BigInt(amount), interval);
  const price = `${currency}:${monthly.numerator}/${monthly.denominator}:${interval}`;
  expect(readPrice(price).interval).to.equal(interval);
  const mrr = monthlyToMrr(monthly, rate, currency);
  return [{ item: "item", external_id: "plan", price, mrr }];
}

function monthlyOf(amount: bigint, interval: string): Fraction {
  const whole = { numerator: amount * 100n, denominator: 1n };
  if (interval !== "week" && interval !== "month" && interval !== "year") {
    throw new Error(`not an interval: ${interval}`);
  }
  return monthlyFraction(whole, { interval, intervalCount: 1n });
}
