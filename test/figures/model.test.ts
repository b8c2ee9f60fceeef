/** The reference model itself, on cases worked out by hand. */
import { expect } from "chai";
import type { ModelEvent } from "../model/facts.js";
import { figuresOf } from "../model/figures.js";
import { monthBefore, periodStart } from "../model/calendar.js";
import { fraction, fractionOfText, rounded, shown, significant } from "../model/fraction.js";
import { quote, quotesOf } from "../model/quotes.js";
import { split } from "../model/split.js";

const utc = (text: string) => Date.parse(text);
const lines = (...weights: bigint[]) => weights.map((weight) => ({ sku: "", weight }));
const day = (time: number) => new Date(time).toISOString().slice(0, 16);

describe("reference model", () => {
  it("should round halves away from zero", () => {
    const cases: [string, bigint][] = [
      ["0.5", 1n],
      ["-0.5", -1n],
      ["1.4999", 1n],
      ["-2.5", -3n],
      ["1e-7", 0n],
    ];
    for (const [text, whole] of cases) expect(rounded(fractionOfText(text)), text).to.equal(whole);
    expect(shown(fraction(-1n, 3n), 2)).to.equal(-0.33);
    expect(significant(fraction(2n, 3n), 10)).to.deep.equal(fraction(6_666_666_667n, 10n ** 10n));
  });

  it("should give the rest of a split to the largest line", () => {
    expect(split(100n, lines(1n, 1n, 1n))).to.deep.equal([34n, 33n, 33n]);
    expect(split(-100n, lines(1n, 2n, 4n))).to.deep.equal([-14n, -28n, -58n]);
    expect(split(750n, lines(1000n, -250n))).to.deep.equal([1000n, -250n]);
    expect(split(7n, lines(0n, 0n))).to.deep.equal([7n, 0n]);
  });

  it("should find the same time of the month before", () => {
    const cases: [string, string][] = [
      ["2026-11-20T10:30", "2026-10-20T10:30"],
      ["2026-03-30T10:30", "2026-02-28T10:30"],
      ["2026-02-28T10:30", "2026-01-31T10:30"],
      ["2024-02-28T10:30", "2024-01-28T10:30"],
      ["2026-01-15T00:00", "2025-12-15T00:00"],
    ];
    for (const [now, then] of cases) expect(day(monthBefore(utc(`${now}Z`))), now).to.equal(then);
  });

  it("should begin periods at midnight", () => {
    const now = utc("2026-05-31T10:30Z");
    expect(day(periodStart("today", now))).to.equal("2026-05-31T00:00");
    expect(day(periodStart("7d", now))).to.equal("2026-05-25T00:00");
    expect(day(periodStart("3m", now))).to.equal("2026-02-28T00:00");
    expect(day(periodStart("12m", now))).to.equal("2025-05-31T00:00");
  });

  it("should convert at the last quote before the event's own day", () => {
    const ecb = new Map([
      ["USD", [["2026-01-02", "1.2"] as const, ["2026-01-05", "1.5"] as const]],
      ["RUB", [["2022-03-01", "117.201"] as const]],
    ]);
    const quotes = quotesOf([ecb]);
    expect(quotes.quote("USD", "EUR", utc("2026-01-05T23:59Z"))).to.deep.equal(
      fraction(8_333_333_333n, 10n ** 10n),
    );
    expect(quotes.quote("EUR", "USD", utc("2026-01-06T00:00Z"))).to.deep.equal(fraction(3n, 2n));
    expect(quotes.quote("EUR", "USD", utc("2026-01-02T12:00Z"))).to.equal(null);
    expect(quotes.quote("RUB", "EUR", utc("2026-01-13T00:00Z"))).to.equal(null);
    expect(quotes.quote("CHF", "CHF", 0)).to.deep.equal(fraction(1n));
  });

  it("should convert by a last quote for 10 days from when its source went on without it", () => {
    const ecb = new Map([
      ["USD", [["2026-01-02", "1.2"] as const, ["2026-01-05", "1.5"] as const]],
      ["ISK", [["2026-01-02", "100"] as const]],
    ]);
    const ofDay = (date: string) => quotesOf([ecb]).quote("EUR", "ISK", utc(`${date}T12:00Z`));
    expect(ofDay("2026-01-15")).to.deep.equal(fraction(100n));
    expect(ofDay("2026-01-16")).to.equal(null);
  });

  it("should not convert by a scattered list when a later one may report another quote", () => {
    const daily = ["2025-03-05", "2025-08-30", "2025-08-31"] as const;
    const lists = new Map([["ARS", daily.map((listed, at) => [listed, `${at + 1}`] as const)]]);
    const quotes = quotesOf([new Map(), lists]);
    const ofDay = (date: string) => quotes.quote("EUR", "ARS", utc(`${date}T12:00Z`));
    expect(ofDay("2025-03-06")).to.deep.equal(fraction(1n));
    expect(ofDay("2025-03-07")).to.equal(null);
    expect(ofDay("2025-08-30")).to.equal(null);
    expect(ofDay("2025-08-31")).to.deep.equal(fraction(2n));
    expect(ofDay("2026-01-01")).to.deep.equal(fraction(3n));
  });

  it("should read the bundled lists", () => {
    expect(quote("EUR", "USD", utc("2026-10-30T12:00Z"))).to.deep.equal(fractionOfText("1.113"));
    expect(quote("EUR", "USD", utc("2026-11-20T12:00Z"))).to.deep.equal(fractionOfText("1.1172"));
    expect(quote("KWD", "USD", utc("2026-09-29T12:00Z"))).to.equal(null);
  });

  it("should report a customer's figures from records in any order", () => {
    const events = [
      record("3", "subscription.churn", 0, "2026-04-01T00:00:00Z"),
      record("1", "subscription.new", 120, "2026-01-10T00:00:00Z"),
      record("2", "subscription.new", 240, "2026-02-28T10:00:00Z"),
      record("1", "subscription.new", 120, "2026-01-10T00:00:00Z"),
    ];
    const figures = figuresOf(events, "USD");
    expect(figures.mrr(utc("2026-02-28T12:00Z"))).to.deep.equal({
      current_mrr: 20,
      growth_mom_pct: 100,
      previous_mrr: 10,
      active_subscribers: 1,
      breakdown_by_provider: { custom: 20 },
    });
    expect(figures.cohorts(utc("2026-04-02T00:00Z"))).to.deep.equal([
      {
        vintage: "2026-01",
        starting_mrr: 10,
        nrr_percentage: 0,
        retention_curve: [100, 200, 200, 0],
      },
    ]);
    expect(figures.products("lifetime", utc("2026-04-02T00:00Z"))).to.deep.equal([
      {
        name: null,
        total_revenue: 360,
        total_sales: 2,
        active_subscriptions: 0,
        mrr: 0,
        providers: [{ provider: "custom", external_id: "sku", revenue: 360, sales_count: 2 }],
      },
    ]);
  });
});

function record(id: string, event_type: string, amount: number, occurred_at: string): ModelEvent {
  const what = { event_id: id, provider: "custom", event_type, amount, currency: "USD" };
  const who = { product_id: "sku", subscription_id: "s", customer_id: "c", interval: "year" };
  return { id, receivedAt: 0, source: "record", body: { ...what, ...who, occurred_at } };
}
