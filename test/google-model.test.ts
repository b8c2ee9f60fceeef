/**
 * Stories of Google Play customers, read by the adapter and by the reference model: both readings
 * must come to the same MRR and the same payments at every moment, whatever part of a story
 * arrives, in any order. (figures.test.ts proves the same through the service.)
 */
import * as fc from "fast-check";
import { expect } from "chai";
import type { FactBody } from "../schemas/records.js";
import { bundledQuotes } from "./model/bundled-quotes.js";
import type { BareFact, Fact } from "./model/facts.js";
import { fraction } from "./model/fraction.js";
import { withAnswersInBodies } from "./model/google-answers.js";
import { type GooglePlan, googlePlans, tellGoogle } from "./model/google-story.js";
import { must } from "./model/json.js";
import { moneyOf } from "./model/money.js";
import { timelinesOf, worthAt } from "./model/mrr.js";
import { isLiveGoogle, readGoogle, toldAtOf } from "./model/read-google.js";
import { dayMs, Script, secondMs, type Sent } from "./model/story.js";

const end = Math.floor(Date.now() / dayMs) * dayMs - secondMs;
const quotes = bundledQuotes();
const google = must(withAnswersInBodies(new Map()).get("google"), "Google's adapter");
const base = "USD";
const runs = 1_000;

describe("Stories of Google Play", () => {
  it("should be read as the reference model reads them, whichever part of them arrives", () => {
    const property = fc.property(googlePlans, fc.array(fc.boolean()), (plan, lost) => {
      const script = new Script(end);
      tellGoogle(script, plan);
      const arrived = script.sent.filter((_event, index) => lost[index] !== true);
      expect(figuresIn(arrived, byAdapter)).to.deep.equal(figuresIn(arrived, byModel));
    });
    fc.assert(property, { numRuns: runs, examples: [lostBetween] });
  });
});

/** Of three purchases each of which replaces the one before, no word of the second arrives. */
const lostBetween: [GooglePlan, boolean[]] = [changedTwice(), [false, true, false, false, true]];

function changedTwice(): GooglePlan {
  const common = { product: "play_alpha", price: 10n } as const;
  const gap = { days: 1, seconds: 0 };
  const step = {
    what: "upgrade" as const,
    ...common,
    gap,
    refund: { gap, kind: "whole" as const },
  };
  const steps = [step, step];
  const rest = { currency: "USD", country: "DE", isTest: false, charge: null } as const;
  const start = { days: 9, seconds: 0 };
  return { start, ...rest, ...common, period: "month", begins: "base", steps };
}

type Reading = (event: Sent) => readonly BareFact[];

const byModel: Reading = ({ body }) => readGoogle(body);

const byAdapter: Reading = ({ body }) => {
  const decoded = google.decode(body);
  if (decoded.outcome === "rejected") throw new Error(`${decoded.reason}: ${decoded.detail}`);
  if (decoded.outcome === "ignored") return [];
  expect(decoded.sandbox).to.equal(!isLiveGoogle(body));
  return decoded.facts.flatMap((fact) => inWordsOfModel(fact.body));
};

function figuresIn(events: readonly Sent[], read: Reading): unknown {
  const facts = events.flatMap((event): Fact[] =>
    read(event).map((fact) => ({
      ...fact,
      eventId: event.id,
      toldAt: toldAtOf(event.body),
      provider: "google",
    })),
  );
  const timelines = timelinesOf(facts, base, quotes);
  const { entries, payments } = moneyOf(facts, base, quotes);
  const moments = [
    ...new Set([...timelines.flatMap(({ states }) => states), ...entries].map(({ at }) => at)),
  ].sort((one, other) => one - other);
  return {
    mrr: moments
      .map((at) => ({
        at: new Date(at).toISOString(),
        accounts: timelines
          .map((timeline) => `${timeline.account} ${worthAt(timeline, at)}`)
          .filter((text) => !text.endsWith(" 0"))
          .sort(),
      }))
      .filter(isNews),
    entries: entries.map((entry) => JSON.stringify(entry, textOfBigint)).sort(),
    payments: payments
      .map((payment) => {
        const { amount, currency, country, type, at, sku } = payment;
        const refunded = payment.refundedAt(end);
        const isDisputed = payment.isDisputedAt(end);
        const told = { amount, currency, country, type, at, sku, refunded, isDisputed };
        return JSON.stringify(told, textOfBigint);
      })
      .sort(),
  };
}

/** Moments at which nothing changes are of no interest: only one reading may name them. */
function isNews(
  { accounts }: { accounts: readonly string[] },
  index: number,
  all: readonly { accounts: readonly string[] }[],
): boolean {
  return accounts.join() !== (all[index - 1]?.accounts ?? []).join();
}

function textOfBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

function inWordsOfModel(body: FactBody): BareFact[] {
  if ("Payment" in body) {
    const { payment, at, amount, currency, country, type, tax } = body.Payment;
    const lines = body.Payment.lines.map(({ external_id: sku, weight }) => ({ sku, weight }));
    return [{ kind: "sale", payment, at, amount, currency, country, type, tax, lines }];
  }
  if ("Refund" in body) {
    const { refund, payment, at, amount, currency, failed_at: failedAt, tax } = body.Refund;
    const rest = { sku: null, country: null, ...(typeof tax === "bigint" ? { tax } : {}) };
    return [{ kind: "refund", refund, payment, at, amount, currency, failedAt, ...rest }];
  }
  if ("Dispute" in body) {
    const { dispute, payment, amount, currency } = body.Dispute;
    const { withdrawn_at: withdrawnAt, returned_at: returnedAt } = body.Dispute;
    const certainty = 2 as const;
    return [
      { kind: "dispute", dispute, payment, amount, currency, withdrawnAt, returnedAt, certainty },
    ];
  }
  if (!("Subscription" in body)) return [];
  const { subscription, account, phase, currency, country, steps } = body.Subscription;
  const told = steps.map(({ at, items }) => ({
    at,
    items: items.map((item) => ({
      item: item.item,
      sku: item.external_id,
      monthly: fraction(item.monthly_numerator, item.monthly_denominator),
    })),
  }));
  return [{ kind: "change", subscription, account, phase, currency, country, steps: told }];
}
