import { expect } from "chai";
import { billingPeriodBetween } from "../../schemas/money/billing-periods.js";

describe("A period reported by its two ends", () => {
  const cases: readonly [title: string, start: string, end: string, period: string][] = [
    ["the same day of the next month", "2026-01-15T10:00Z", "2026-02-15T10:00Z", "1 month"],
    ["the 31st to February's last day", "2026-01-31T10:00Z", "2026-02-28T10:00Z", "1 month"],
    ["the 30th to February's last day", "2026-01-30T10:00Z", "2026-02-28T10:00Z", "1 month"],
    ["last day to last day", "2026-02-28T10:00Z", "2026-03-31T10:00Z", "1 month"],
    ["a leap day to the year's end of it", "2024-02-29T10:00Z", "2025-02-28T10:00Z", "1 year"],
    ["28 days that are a February", "2026-02-10T10:00Z", "2026-03-10T10:00Z", "1 month"],
    ["three months", "2026-11-30T10:00Z", "2027-02-28T10:00Z", "3 month"],
    ["twelve months", "2026-03-01T00:00Z", "2027-03-01T00:00Z", "1 year"],
    ["twenty-four months", "2026-03-01T00:00Z", "2028-03-01T00:00Z", "2 year"],
    ["eighteen months", "2026-03-01T00:00Z", "2027-09-01T00:00Z", "18 month"],
    ["seven days", "2026-03-02T10:00Z", "2026-03-09T10:00Z", "1 week"],
    ["28 days that are no month", "2026-03-02T10:00Z", "2026-03-30T10:00Z", "4 week"],
    ["two months and a day", "2026-07-01T00:00Z", "2026-09-02T00:00Z", "9 week"],
    ["30 days", "2026-05-01T00:00Z", "2026-05-31T00:00Z", "1 month"],
    ["33 days", "2026-05-01T00:00Z", "2026-06-03T00:00Z", "1 month"],
    ["34 days", "2026-05-01T00:00Z", "2026-06-04T00:00Z", "34 day"],
    ["90 days", "2026-05-01T00:00Z", "2026-07-30T00:00Z", "3 month"],
    ["ten days", "2026-05-01T00:00Z", "2026-05-11T00:00Z", "10 day"],
    ["an hour", "2026-05-01T00:00Z", "2026-05-01T01:00Z", "1 day"],
    ["a month losing the hour of summer time", "2026-02-15T00:30Z", "2026-03-14T23:30Z", "1 month"],
    ["a month gaining it back", "2026-10-15T23:30Z", "2026-11-16T00:30Z", "1 month"],
    ["a week losing it", "2026-03-05T10:00Z", "2026-03-12T09:00Z", "1 week"],
    ["one that ends as it starts", "2026-05-01T00:00Z", "2026-05-01T00:00Z", "none"],
    ["one that ends before it starts", "2026-05-01T00:00Z", "2026-04-01T00:00Z", "none"],
  ];
  for (const [title, start, end, period] of cases) {
    it(`should be ${period}: ${title}`, () => {
      const read = billingPeriodBetween(Date.parse(start), Date.parse(end));
      expect(read === null ? "none" : `${read.intervalCount} ${read.interval}`).to.equal(period);
    });
  }
});
