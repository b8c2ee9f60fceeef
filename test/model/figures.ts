/**
 * Every figure of the interface, by brute force from the set of distinct events: slow, obvious and
 * independent of the order in which they came (`definitions.md`).
 */
import { type Interval, monthBefore, type Period } from "./calendar.js";
import type { BareFact, Fact, ModelEvent } from "./facts.js";
import { fraction, shown } from "./fraction.js";
import { text } from "./readers/json.js";
import { type Entry, moneyOf, type Money } from "./money.js";
import { timelinesOf, worthAt, type Timeline } from "./mrr.js";
import { productsAt } from "./products.js";
import * as series from "./series.js";
import { quote } from "./quotes.js";
import { readRecord, recordReportedAt } from "./readers/read-record.js";
import { grouped, shownMicros, shownMinor } from "./compare/showing.js";
import { webhooks } from "./stories/webhooks.js";

/** From 00:00 of a day to 00:00 of another. */
export interface Time {
  readonly from: number;
  readonly to: number;
  readonly interval: Interval;
}

export type LongInterval = "month" | "quarter" | "year";

export type Figures = ReturnType<typeof figuresOf>;

/** Each question is asked as of a moment, ms since 1970: what happened up to it, inclusive. */
export function figuresOf(
  events: readonly ModelEvent[],
  base: string,
  names?: ReadonlyMap<string, string>,
) {
  const facts = distinct(events).flatMap((event) => factsOf(event, base));
  const money = moneyOf(facts, base);
  const timelines = timelinesOf(facts, base);
  const named = names ?? namesIn(facts);
  return {
    mrr: (at: number) => mrrAt(timelines, base, at),
    /** All of them, whenever they happened. */
    entries: money.entries,
    movements: series.movementsOf(timelines),
    cohorts: (at: number) => cohortsAt(timelines, base, at),
    products: (period: Period, at: number) => productsAt(money, timelines, named, base, period, at),
    transactions: (at: number) => transactionsAt(money, base, at),
    bridge: (cell: series.Cell, time: Time, at: number) =>
      series.bridgeOf(timelines, base, cell, time, at),
    /** @param groupOf entries of equal text are added up */
    revenue: (groupOf: (entry: Entry) => string, cell: series.Cell, time: Time, at: number) =>
      series.revenueOf(money.entries, base, groupOf, cell, time, at),
    summary: (provider: string | undefined, at: number) =>
      series.summaryOf(timelines, base, provider, at),
    rates: (cell: series.Cell, time: Pick<Time, "from" | "to">, at: number) =>
      series.ratesOf(timelines, base, cell, time, at),
    retention: (cell: series.Cell, interval: LongInterval, at: number) =>
      series.retentionOf(timelines, base, cell, interval, at),
    /** `provider/SKU` → the name it was given. */
    names: named,
  };
}

/** One of each id: the first receipt counts. */
function distinct(events: readonly ModelEvent[]): ModelEvent[] {
  const byReceipt = [...events].sort((a, b) => b.receivedAt - a.receivedAt);
  return [...new Map(byReceipt.map((event) => [event.id, event])).values()];
}

/**
 * The facts of one event: none of a test event (another environment), and none when one of its
 * amounts has no rate (it is a reject).
 */
function factsOf(event: ModelEvent, base: string): Fact[] {
  const { source, body } = event;
  const webhook = source === "record" ? null : webhooks[source];
  if (webhook !== null && !webhook.isLive(body)) return [];
  const { receivedAt } = event;
  const bare = webhook === null ? readRecord(body, receivedAt) : webhook.read(body, receivedAt);
  const reported =
    webhook === null ? recordReportedAt(body, receivedAt) : webhook.reportedAt(body, receivedAt);
  const provider = source === "record" ? (text(body, "provider") ?? "") : source;
  const isQuoted = bare.every((fact) => {
    const asked = conversionOf(fact);
    return asked === null || quote(asked.currency, base, asked.at) !== null;
  });
  if (!isQuoted) return [];
  return bare.map((fact) => ({
    ...fact,
    eventId: event.id,
    reportedAt: reported ?? momentOf(fact) ?? receivedAt,
    provider,
  }));
}

function momentOf(fact: BareFact): number | null {
  if (fact.kind === "change") return fact.steps[0]?.at ?? null;
  return "at" in fact ? fact.at : null;
}

/** The currency of a fact and the moment whose quote it needs. */
function conversionOf(fact: BareFact): { currency: string; at: number } | null {
  if (fact.kind === "dispute") {
    const at = fact.withdrawnAt ?? fact.returnedAt;
    return at === null ? null : { currency: fact.currency, at };
  }
  if (fact.kind === "change" && fact.steps.every(({ items }) => items.length === 0)) return null;
  const at = momentOf(fact);
  return "currency" in fact && at !== null ? { currency: fact.currency, at } : null;
}

function namesIn(facts: readonly Fact[]): ReadonlyMap<string, string> {
  return new Map(
    facts.flatMap((fact) =>
      fact.kind === "naming" ? [[`${fact.provider}/${fact.sku}`, fact.name]] : [],
    ),
  );
}

function mrrAt(timelines: readonly Timeline[], base: string, at: number) {
  const now = totalOf(timelines, at);
  const before = totalOf(timelines, monthBefore(at));
  const accounts = [...grouped(timelines, ({ account }) => account).values()];
  const breakdown = [...grouped(timelines, ({ provider }) => provider)].flatMap(
    ([provider, some]): [string, number][] => {
      const worth = totalOf(some, at);
      return worth > 0n ? [[provider, shownMicros(worth, base)]] : [];
    },
  );
  const growth = before === 0n ? 0 : shown(fraction((now - before) * 100n, before), 2);
  return {
    current_mrr: shownMicros(now, base),
    growth_mom_pct: growth,
    previous_mrr: shownMicros(before, base),
    active_subscribers: accounts.filter((some) => totalOf(some, at) > 0n).length,
    breakdown_by_provider: Object.fromEntries(breakdown),
  };
}

function totalOf(some: readonly Timeline[], time: number): bigint {
  return some.reduce((total, timeline) => total + worthAt(timeline, time), 0n);
}

function cohortsAt(timelines: readonly Timeline[], base: string, at: number) {
  return series.retentionOf(timelines, base, {}, "month", at).map(({ vintage, starting, net }) => ({
    vintage,
    starting_mrr: starting,
    nrr_percentage: net.at(-1) ?? 100,
    retention_curve: net,
  }));
}

function transactionsAt({ payments }: Money, base: string, at: number) {
  return payments
    .filter((payment) => payment.at <= at)
    .map((payment) => {
      const refunded = payment.refundedAt(at);
      const isRefunded = payment.type === "refund" || refunded >= payment.amount;
      return {
        provider: payment.provider,
        external_id: payment.sku,
        gross_amount: shownMinor(payment.amount, payment.currency),
        original_currency: payment.currency,
        normalized_amount: shownMinor(payment.normalized, base),
        fx_rate: shown(payment.rate, 20),
        customer_country: payment.country,
        type: payment.type,
        status: payment.isDisputedAt(at) ? "disputed" : isRefunded ? "refunded" : "succeeded",
        refunded_amount: shownMinor(refunded, payment.currency),
        timestamp: new Date(payment.at).toISOString(),
      };
    });
}
