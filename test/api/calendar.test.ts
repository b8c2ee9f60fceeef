import { expect } from "chai";
import { growthThen, periodStart } from "../../api/reading/calendar.js";
import { monthNumber, monthText } from "../../schemas/months.js";
import type { Period } from "../../api/products/schema.js";

const ms = (text: string) => Date.parse(`${text}Z`);
const text = (at: number | null) => (at === null ? null : new Date(at).toISOString().slice(0, -1));

describe("the calendar", () => {
  const growth: readonly (readonly [now: string, then: string])[] = [
    ["2026-11-20T17:30:00.250", "2026-10-20T17:30:00.250"],
    ["2026-01-05T00:00:00.000", "2025-12-05T00:00:00.000"],
    // The month before is shorter: its last day.
    ["2026-03-30T12:00:00.000", "2026-02-28T12:00:00.000"],
    ["2026-03-29T12:00:00.000", "2026-02-28T12:00:00.000"],
    ["2026-03-28T12:00:00.000", "2026-02-28T12:00:00.000"],
    ["2024-03-30T12:00:00.000", "2024-02-29T12:00:00.000"],
    // From the last day of a month always to the last day.
    ["2026-02-28T23:59:59.999", "2026-01-31T23:59:59.999"],
    ["2024-02-29T01:00:00.000", "2024-01-31T01:00:00.000"],
    ["2024-02-28T01:00:00.000", "2024-01-28T01:00:00.000"],
    ["2026-03-31T00:00:00.000", "2026-02-28T00:00:00.000"],
    ["2026-04-30T08:00:00.000", "2026-03-31T08:00:00.000"],
    ["2026-12-31T08:00:00.000", "2026-11-30T08:00:00.000"],
  ];
  for (const [now, then] of growth) {
    it(`should compare growth at ${now} with ${then}`, () => {
      expect(text(growthThen(ms(now)))).to.equal(then);
    });
  }

  const starts: readonly (readonly [period: Period, at: string, start: string | null])[] = [
    ["today", "2026-11-20T17:30:00.000", "2026-11-20T00:00:00.000"],
    ["today", "2026-11-20T00:00:00.000", "2026-11-20T00:00:00.000"],
    ["7d", "2026-11-20T17:30:00.000", "2026-11-14T00:00:00.000"],
    ["7d", "2026-03-03T23:59:59.999", "2026-02-25T00:00:00.000"],
    ["30d", "2026-11-20T17:30:00.000", "2026-10-22T00:00:00.000"],
    ["3m", "2026-11-20T17:30:00.000", "2026-08-20T00:00:00.000"],
    ["3m", "2026-05-31T17:30:00.000", "2026-02-28T00:00:00.000"],
    ["3m", "2024-05-31T17:30:00.000", "2024-02-29T00:00:00.000"],
    // Not the rule of growth: the same day, although this one is its month's last.
    ["3m", "2026-02-28T17:30:00.000", "2025-11-28T00:00:00.000"],
    ["12m", "2026-11-20T17:30:00.000", "2025-11-20T00:00:00.000"],
    ["12m", "2024-02-29T17:30:00.000", "2023-02-28T00:00:00.000"],
    ["lifetime", "2026-11-20T17:30:00.000", null],
  ];
  for (const [period, at, start] of starts) {
    it(`should begin ${period} of ${at} at ${start ?? "the beginning"}`, () => {
      expect(text(periodStart(period, ms(at)))).to.equal(start);
    });
  }

  it("should count months on over the end of a year", () => {
    expect(monthText(monthNumber(ms("2025-12-31T23:59:59.999")) + 1)).to.equal("2026-01");
  });
});
