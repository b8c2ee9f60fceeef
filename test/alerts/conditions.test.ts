/** When alerts fire: each condition, its edges, and what gaps do. */
import { expect } from "chai";
import { type Series, watch } from "../../api/alerts/conditions.js";
import { quietUntil } from "../../api/alerts/quiet.js";
import { silencePoints } from "../../api/alerts/records.js";
import { sentenceOf, titleOf } from "../../api/alerts/sentences.js";
import type { AlertCondition, AlertRule } from "../../schemas/http/outbound/alerts.js";

const dayMs = 24 * 60 * 60 * 1000;
const hourMs = dayMs / 24;
const never = { isMet: false, firedAt: null, judgedTo: -1 };

const balance = { isBalance: true, grows: null } as const;
const growing = { isBalance: false, grows: "up" } as const;
const falling = { isBalance: false, grows: "down" } as const;
const ofWhole = { isBalance: false, grows: null } as const;

/** @param text a value a day; `-` where there is none; `…` behind one of a day that goes on */
function daysOf(text: string, kind: Pick<Series, "isBalance" | "grows">, stride = 1): Series {
  const points = text.split(" ").map((cell, day) => ({
    start: day * dayMs,
    at: cell.endsWith("…") ? day * dayMs + hourMs : (day + 1) * dayMs,
    value: cell === "-" ? null : Number(cell.replace("…", "")),
    isOver: !cell.endsWith("…"),
  }));
  return { ...kind, points, stride };
}

const above: AlertCondition = { is: "above", value: 10 };
const below: AlertCondition = { is: "below", value: 10 };
const change = (
  way: "up" | "down" | "either",
  by: number,
  unit: "percent" | "amount",
  over = 1,
): AlertCondition => ({ is: "change", way, by, unit, over });
const unusual: AlertCondition = { is: "unusual", deviations: 3, periods: 5 };

/** Days on which it fires, counted from 0. */
const table: readonly (readonly [
  string,
  AlertCondition,
  Pick<Series, "isBalance" | "grows">,
  string,
  readonly number[],
])[] = [
  ["fires once while it stays above", above, balance, "9 11 12 11", [1]],
  ["fires again only after it was not", above, balance, "11 10 11 9 12", [0, 2, 4]],
  ["does not fire at the limit itself", above, balance, "10 10", []],
  ["is not ended by a gap", above, balance, "11 - - 12 9 - 11", [0, 6]],
  ["fires below", below, balance, "12 10 9 8 11 -1", [2, 5]],
  ["judges a balance amid a day", below, balance, "12 9…", [1]],
  ["judges a sum that crossed already amid a day", above, growing, "1 11…", [1]],
  ["does not say that a growing sum is low before its day is over", below, growing, "12 1…", []],
  ["does not end by a day that has only begun", above, growing, "11 0… 12", [0]],
  ["judges refunds, which fall, the other way", below, falling, "12 9…", [1]],
  ["judges no other figure before its day is over", above, ofWhole, "1 11…", []],
  ["fires at a change of exactly so much", change("up", 10, "percent"), balance, "100 110", [1]],
  ["does not fire at less", change("up", 10, "percent"), balance, "100 109.9", []],
  ["knows the way", change("down", 10, "percent"), balance, "100 120 100", [2]],
  ["knows either way", change("either", 5, "amount"), balance, "10 15 15 10", [1, 3]],
  ["compares over several days", change("up", 3, "amount", 3), balance, "1 2 3 4 4", [3]],
  ["says nothing about a share of nothing", change("up", 1, "percent"), balance, "0 5", []],
  ["measures a share of what was below 0", change("up", 50, "percent"), ofWhole, "-10 -5", [1]],
  ["says nothing where the day before is missing", change("up", 1, "amount"), balance, "1 - 9", []],
  ["fires outside of the usual", unusual, growing, "10 12 11 9 10 30", [5]],
  ["fires below the usual", unusual, growing, "100 120 110 90 100 1", [5]],
  ["does not fire within it", unusual, growing, "10 12 11 9 10 14", []],
  ["needs enough like days", unusual, growing, "10 12 11 9 30", []],
  ["counts gaps as no days", unusual, growing, "10 12 - 9 10 30", []],
  ["has no band where all are alike", unusual, growing, "5 5 5 5 5 50", []],
  ["has a band where most are alike", unusual, growing, "5 5 5 5 9 6 50", [6]],
  ["judges the change of a balance", unusual, balance, "0 10 21 30 41 50 60", []],
  ["fires when a balance stands still", unusual, balance, "0 10 21 30 41 50 50", [6]],
  ["says nothing unusual before a day is over", unusual, balance, "0 10 21 30 41 50 50…", []],
];

describe("An alert", () => {
  for (const [title, condition, kind, days, expected] of table) {
    it(`${title}: ${days}`, () => {
      const { firings } = watch(daysOf(days, kind), condition, never, 0);
      expect(firings.map(({ point }) => point.start / dayMs)).to.deep.equal(expected);
    });
  }

  it("should compare days with the same day of the week", () => {
    const week = "1 9 9 9 9 9 1";
    const weeks = [week, "2 8 9 9 9 9 1", "1 9 8 9 9 9 2", week, "2 9 9 9 9 9 1", "9"].join(" ");
    const fired = watch(daysOf(weeks, growing, 7), unusual, never, 0).firings;
    expect(fired.map(({ point }) => point.start / dayMs)).to.deep.equal([35]);
  });

  it("should find the same in one look as in many, and end what it found", () => {
    const all = "9 11 12 - 8 11 9";
    const whole = watch(daysOf(all, balance), above, never, 0);
    expect(whole.firings.map(({ endedAt }) => (endedAt ?? 0) / dayMs)).to.deep.equal([5, 7]);
    let state = never as ReturnType<typeof watch>["after"];
    const found: number[] = [];
    const ends: number[] = [];
    for (let days = 1; days <= all.split(" ").length; days += 1) {
      const seen = daysOf(all.split(" ").slice(0, days).join(" "), balance);
      const { after, firings, endedAt } = watch(seen, above, state, 0);
      found.push(...firings.map(({ point }) => point.at));
      if (endedAt !== null) ends.push(endedAt / dayMs);
      state = after;
    }
    expect(found).to.deep.equal(whole.firings.map(({ point }) => point.at));
    expect(ends).to.deep.equal([5, 7]);
  });

  it("should rest between two firings, and then fire if the condition is still true", () => {
    const days = daysOf("11 9 11 11 11 11", balance);
    const { firings } = watch(days, above, never, 4 * dayMs);
    expect(firings.map(({ point }) => point.start / dayMs)).to.deep.equal([0, 4]);
  });

  it("should find every silence, to the moment", () => {
    const at = (text: string) => Date.parse(`2026-11-27T${text}Z`);
    const receipts = [at("01:00"), at("01:10"), at("04:10"), at("07:20"), at("11:00")];
    const points = silencePoints(receipts, { from: at("00:00"), to: at("14:30") }, 3);
    const condition = { is: "above", value: 3 - 1 / hourMs } as const;
    const series = { points, stride: 1, ...balance };
    const { firings, after } = watch(series, condition, never, 0);
    const times = firings.map(({ point }) => new Date(point.at).toISOString().slice(11, 16));
    expect(times).to.deep.equal(["07:10", "10:20", "14:00"]);
    expect(after.isMet).to.equal(true);
    expect(firings.map(({ value }) => value)).to.deep.equal([3, 3, 3]);
  });
});

describe("Quiet hours", () => {
  const rows = `
    from   to     zone           at                    until
    22:00  07:00  Europe/Berlin  2026-11-27T20:59:59Z  -
    22:00  07:00  Europe/Berlin  2026-11-27T21:00:00Z  2026-11-28T06:00:00Z
    22:00  07:00  Europe/Berlin  2026-11-28T05:59:59Z  2026-11-28T06:00:00Z
    22:00  07:00  Europe/Berlin  2026-11-28T06:00:00Z  -
    22:00  07:00  Europe/Berlin  2026-03-28T22:00:00Z  2026-03-29T05:00:00Z
    22:00  07:00  Europe/Berlin  2026-10-24T21:00:00Z  2026-10-25T06:00:00Z
    12:00  13:30  Asia/Kolkata   2026-11-27T06:45:00Z  2026-11-27T08:00:00Z
    00:00  23:59  UTC            2026-11-27T23:59:00Z  -`;

  for (const line of rows.trim().split("\n").slice(1)) {
    it(`should be by the clock of their zone: ${line.trim()}`, () => {
      const [from = "", to = "", time_zone = "", at = "", until = ""] = line.trim().split(/\s+/);
      const end = quietUntil({ from, to, time_zone }, Date.parse(at));
      expect(end).to.equal(until === "-" ? null : Date.parse(until));
    });
  }
});

describe("What an alert says", () => {
  const naming = { currency: "EUR", names: new Map([["int_1", "Shop"]]), segments: new Map() };
  const ofFigure = (
    figure: "mrr" | "revenue" | "customer_churn_rate_pct",
    condition: AlertCondition,
    interval: "day" | "week" | "month" = "day",
  ): AlertRule => ({ on: "figure", figure, interval, condition });
  const says: readonly (readonly [
    AlertRule,
    readonly [string, Pick<Series, "isBalance" | "grows">],
    string,
    string,
  ])[] = [
    [
      ofFigure("mrr", below),
      ["12 9.5…", balance],
      "MRR below €10.00",
      "MRR is €9.50, below €10.00.",
    ],
    [
      ofFigure("revenue", above),
      ["1 1200 3", growing],
      "Revenue of a day above €10.00",
      "Revenue of 1970-01-02: €1,200.00, above €10.00.",
    ],
    [
      ofFigure("mrr", change("down", 10, "percent", 2)),
      ["10 9 8 9", balance],
      "MRR goes down by 10% within 2 days",
      "MRR was €8.00 at the end of 1970-01-03, down 20% from €10.00 2 days before.",
    ],
    [
      ofFigure("revenue", unusual),
      ["10 12 11 9 10 30", growing],
      "Revenue of a day outside of what is usual",
      "Revenue of 1970-01-06: €30.00, outside of the usual €5.55 to €14.45.",
    ],
    [
      ofFigure("customer_churn_rate_pct", above, "month"),
      ["10.5", ofWhole],
      "Customer churn of a month above 10%",
      "Customer churn of 1970-01: 10.5%, above 10%.",
    ],
    [
      { on: "silence", hours: 1, integration: "int_1" },
      ["20", balance],
      "No event from Shop for 1 hour",
      "No event came from Shop for 1 hour.",
    ],
    [
      { on: "rejects", above: 1 },
      ["12", balance],
      "More than 1 event not booked",
      "12 events could not be booked, more than 1.",
    ],
    [
      { on: "differences", above: 0 },
      ["11", balance],
      "More than 0 payments, refunds or disputes differ from the provider's list",
      "11 payments, refunds or disputes of the last three months differ from the provider's " +
        "list, more than 0.",
    ],
  ];
  for (const [rule, [days, kind], title, sentence] of says) {
    it(`should read: ${sentence}`, () => {
      expect(titleOf(rule, naming)).to.equal(title);
      const condition = rule.on === "figure" ? rule.condition : above;
      const [firing] = watch(daysOf(days, kind), condition, never, 0).firings;
      if (firing === undefined) throw new Error("it fires");
      expect(sentenceOf(rule, firing, naming)).to.equal(sentence);
    });
  }
});
