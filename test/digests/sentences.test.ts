/** The three sentences of a digest, and its days. */
import { expect } from "chai";
import { z } from "zod";
import { sentencesOf } from "../../api/digests/sentences.js";
import { type Frequency, frequencies } from "../../schemas/http/outbound/digests.js";
import { dueAfter, lastPeriodEnd, nextPeriodEnd } from "../../workspaces/digests.js";

const none = {
  new_mrr: 0,
  expansion_mrr: 0,
  contraction_mrr: 0,
  churn_mrr: 0,
  reactivation_mrr: 0,
  switch_mrr: 0,
};

function figures(
  [before, now]: readonly [number, number],
  kinds: Partial<typeof none>,
  product: string | null,
  [sold, sales]: readonly [number, number],
  earlier: readonly [number, number] | null,
) {
  const row = { difference: now - before, kinds: none, movements: 1 };
  return {
    mrr: { mrr: now, currency: "EUR" },
    whatChanged: {
      from: { at: "2026-11-01T00:00:00.000Z", mrr: before },
      difference: now - before,
      kinds: { ...none, ...kinds },
      rows: product === null ? [] : [{ ...row, product_id: "prd_1", product_name: product }],
    },
    revenue: {
      totals: { revenue: sold, sales },
      compare: earlier && { revenue: earlier[0], sales: earlier[1] },
    },
  };
}

type Row = readonly [Frequency, ReturnType<typeof figures>, readonly string[]];

const rows: readonly Row[] = [
  [
    "daily",
    figures([0, 0], {}, null, [0, 0], [0, 0]),
    [
      "MRR is €0.00, the same as a day before.",
      "No subscription changed it.",
      "Revenue of the day was €0.00 from 0 sales, after €0.00 from 0 sales the day before.",
    ],
  ],
  [
    "weekly",
    figures([1200, 1230.5], { new_mrr: 40, churn_mrr: -9.5 }, "Atlas", [1500, 1], [900, 12]),
    [
      "MRR is €1,230.50, up €30.50 (2.5%) from €1,200.00 a week before.",
      "It grew by new customers (€40.00) and shrank by customers who left (€9.50), most of all " +
        "in Atlas.",
      "Revenue of the week was €1,500.00 from 1 sale, after €900.00 from 12 sales the week before.",
    ],
  ],
  [
    "monthly",
    figures(
      [100, 60],
      { contraction_mrr: -10, churn_mrr: -35, reactivation_mrr: 3, expansion_mrr: 1, new_mrr: 1 },
      null,
      [-5, 0],
      null,
    ),
    [
      "MRR is €60.00, down €40.00 (40%) from €100.00 a month before.",
      "It grew by new customers (€1.00), upgrades (€1.00), and returning customers (€3.00) " +
        "and shrank by downgrades (€10.00) and customers who left (€35.00).",
      "Revenue of the month was -€5.00 from 0 sales.",
    ],
  ],
  [
    "daily",
    figures([0, 30], { new_mrr: 30 }, "Atlas", [30, 1], [0, 0]),
    [
      "MRR is €30.00, up €30.00 from €0.00 a day before.",
      "It grew by new customers (€30.00), most of all in Atlas.",
      "Revenue of the day was €30.00 from 1 sale, after €0.00 from 0 sales the day before.",
    ],
  ],
  [
    "weekly",
    figures([30, 30], { new_mrr: 10, churn_mrr: -10 }, null, [0, 0], [0, 0]),
    [
      "MRR is €30.00, the same as a week before.",
      "It grew by new customers (€10.00) and shrank by customers who left (€10.00).",
      "Revenue of the week was €0.00 from 0 sales, after €0.00 from 0 sales the week before.",
    ],
  ],
];

describe("The sentences of a digest", () => {
  for (const [frequency, given, expected] of rows) {
    it(`should read: ${expected[0]}`, () => {
      expect(sentencesOf(frequency, given)).to.deep.equal(expected);
    });
  }
});

describe("The period of a digest", () => {
  const table = `
    frequency  at                        last        next
    daily      2026-11-28T12:00:00.000Z  2026-11-28  2026-11-29
    daily      2026-11-28T00:00:00.000Z  2026-11-28  2026-11-29
    weekly     2026-11-28T12:00:00.000Z  2026-11-23  2026-11-30
    weekly     2026-11-29T23:59:59.999Z  2026-11-23  2026-11-30
    weekly     2026-11-30T00:00:00.000Z  2026-11-30  2026-12-07
    monthly    2026-12-31T23:59:59.999Z  2026-12-01  2027-01-01
    monthly    2027-01-01T00:00:00.000Z  2027-01-01  2027-02-01`;

  for (const line of table.trim().split("\n").slice(1)) {
    it(`should end and begin by the calendar: ${line.trim()}`, () => {
      const [name, at = "", last, next] = line.trim().split(/\s+/);
      const frequency = z.enum(frequencies).parse(name);
      const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
      expect(day(lastPeriodEnd(frequency, Date.parse(at)))).to.equal(last);
      expect(day(nextPeriodEnd(frequency, Date.parse(at)))).to.equal(next);
    });
  }

  it("should be reported six hours after its end", () => {
    const due = dueAfter(Date.parse("2026-11-30"));
    expect(new Date(due).toISOString()).to.equal("2026-11-30T06:00:00.000Z");
  });
});
