/**
 * Stories of customers, read by the adapters and by the reference model: both readings must come to
 * the same MRR and the same money at every moment, whatever part of a story arrives, in any order.
 * And the money that is booked of it must be the model's, also as it was known when less had come.
 * (figures.test.ts proves the same, and what becomes of MRR, through the service.)
 */
import * as fc from "fast-check";
import type { PaymentVersions } from "../../processors/book/payment/payment-versions.js";
import type { ProviderToken } from "../../providers/provider.js";
import type { Fact as BookedFact } from "../../schemas/records/records.js";
import { decodedBy, inWordsOfModel } from "../model/compare/adapter-facts.js";
import { applePlans, emitApple } from "../model/stories/apple-story.js";
import { bookedMoney } from "../model/compare/booked-money.js";
import type { Fact, ModelEvent } from "../model/facts.js";
import { withAnswersInBodies } from "../model/compare/google-answers.js";
import { type GooglePlan, googlePlans, emitGoogle } from "../model/stories/google-story.js";
import { gumroadPlans, emitGumroad } from "../model/stories/gumroad-story.js";
import { must } from "../model/readers/json.js";
import { expectLines } from "../model/compare/lines.js";
import { lemonPlans, emitLemonSqueezy } from "../model/stories/lemonsqueezy-story.js";
import { type Entry, type Money, moneyOf } from "../model/money.js";
import { stateAt, timelinesOf } from "../model/mrr.js";
import { paddlePlans, emitPaddle } from "../model/stories/paddle-story.js";
import { chargebeePlans, emitChargebee } from "../model/stories/chargebee-story.js";
import { emitPolar, polarPlans } from "../model/stories/polar-story.js";
import { revenueCatPlans, emitRevenueCat } from "../model/stories/revenuecat-story.js";
import { grouped } from "../model/compare/showing.js";
import {
  dayMs,
  type Drawn,
  inOrder,
  losses,
  Script,
  secondMs,
  withoutLost,
} from "../model/stories/story.js";
import { stripePlans, emitStripe } from "../model/stories/stripe-story.js";
import { webhooks } from "../model/stories/webhooks.js";
import { providers } from "../harness/provider-cases.js";

const end = Math.floor(Date.now() / dayMs) * dayMs - secondMs;
const adapters = withAnswersInBodies(providers);
/** `FUZZ_RUNS` draws more of them; `FUZZ_SEED` and `FUZZ_PATH` repeat what a failure printed. */
const { FUZZ_RUNS: drawn, FUZZ_SEED: seed, FUZZ_PATH: path } = process.env;
const runs = drawn === undefined ? 100 : Number(drawn);
const repeated = {
  ...(seed === undefined ? {} : { seed: Number(seed) }),
  ...(path === undefined ? {} : { path }),
};

const arrivals = fc.record({
  base: fc.constantFrom("EUR", "USD", "JPY"),
  lost: losses,
  order: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 }),
  /** After how many events what is known is asked for, beside the end. */
  known: fc.nat(40),
});
type Arrival = Drawn<typeof arrivals>;

describe("Stories of customers", () => {
  // Of the Kuwaiti dinar only the newest quote is bundled.
  const quotedStripePlans = stripePlans.filter(({ currency }) => currency !== "KWD");
  itIsReadTheSame("stripe", quotedStripePlans, (script, plan) => emitStripe(script, plan, 1));
  itIsReadTheSame("apple", applePlans, emitApple);
  itIsReadTheSame("revenuecat", revenueCatPlans, emitRevenueCat);
  itIsReadTheSame("paddle", paddlePlans, emitPaddle);
  itIsReadTheSame("lemonsqueezy", lemonPlans, (script, plan) => emitLemonSqueezy(script, plan, 1));
  itIsReadTheSame("polar", polarPlans, emitPolar);
  itIsReadTheSame("chargebee", chargebeePlans, emitChargebee);
  itIsReadTheSame("gumroad", gumroadPlans, emitGumroad);
  itIsReadTheSame("google", googlePlans, emitGoogle, [lostBetween()]);
});

function itIsReadTheSame<Plan>(
  token: Exclude<ProviderToken, "custom">,
  plans: fc.Arbitrary<Plan>,
  report: (script: Script, plan: Plan) => void,
  examples: [Plan, Arrival][] = [],
): void {
  const adapter = must(adapters.get(token), "an adapter");
  it(`should come to the model's figures, whatever part of them arrives: ${token}`, async () => {
    const property = fc.asyncProperty(plans, arrivals, async (plan, arrival) => {
      const { base, lost, order, known } = arrival;
      const script = new Script(end);
      report(script, plan);
      const arrived = inOrder(withoutLost(script.sent, lost), order).map((event, index) => ({
        ...event,
        receivedAt: end + (index + 1) * secondMs,
      }));
      const decoded = decodedBy(adapter, arrived);
      const facts = factsOfModel(arrived);
      expectLines("read", figuresIn(inWordsOfModel(decoded), base), figuresIn(facts, base));
      const booked = await bookedMoney(decoded, base);
      for (const count of [known, arrived.length]) {
        const knownAt = end + count * secondMs;
        const money = moneyOf(factsOfModel(arrived.slice(0, count)), base);
        expectLines(`booked by ${count}`, linesBooked(booked, knownAt), linesOf(money));
      }
    });
    await fc.assert(property, { numRuns: runs, examples, ...repeated });
  }).timeout(0);
}

/** Of three purchases each of which replaces the one before, no word of the second arrives. */
function lostBetween(): [GooglePlan, Arrival] {
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
  const plan = { start, ...rest, ...common, period: "month", begins: "base", steps } as const;
  return [
    { ...plan, asked: [0] },
    { base: "EUR", lost: [false, true, false, false, true], order: [0], known: 0 },
  ];
}

function factsOfModel(events: readonly ModelEvent[]): Fact[] {
  return events.flatMap(({ id, source, body, receivedAt }): Fact[] => {
    if (source === "record") throw new Error("a record has no adapter");
    const webhook = webhooks[source];
    if (!webhook.isLive(body)) return [];
    const reported = {
      eventId: id,
      provider: source,
      reportedAt: webhook.reportedAt(body, receivedAt),
    };
    return webhook.read(body, receivedAt).map((fact) => ({ ...fact, ...reported }));
  });
}

/** A line for each thing that both readings must come to. */
function figuresIn(facts: readonly Fact[], base: string): string[] {
  const names = facts.flatMap((fact) =>
    fact.kind === "naming" ? [`${fact.sku} is ${fact.name}`] : [],
  );
  return [...mrrIn(facts, base), ...linesOf(moneyOf(facts, base)), ...new Set(names)];
}

/** After the receipt of the last event, by which Gumroad dates what it does not date. */
const atLast = Infinity;

function linesOf({ entries, payments }: Money): string[] {
  const reported = payments.map((payment) => {
    const { amount, currency, country, type, at, sku } = payment;
    const refunded = payment.refundedAt(atLast);
    const isDisputed = payment.isDisputedAt(atLast);
    return lineOf({ amount, currency, country, type, at, sku, refunded, isDisputed });
  });
  return [...cellsOf(entries), ...reported];
}

/** @param knownAt ms since 1970 */
function linesBooked(payments: readonly PaymentVersions[], knownAt: number): string[] {
  const isKnown = ({ fact }: { readonly fact: BookedFact }) => fact.received_at <= knownAt;
  const entries = payments.flatMap(({ ledger }) =>
    ledger.filter(isKnown).map((row) => ({
      ...row,
      kind: row.kind === "dispute_won" ? ("dispute" as const) : row.kind,
      sku: row.external_id,
      at: row.happened_at,
    })),
  );
  const reported = payments.flatMap(({ versions }) => {
    const document = versions.findLast(isKnown)?.document;
    if (document === undefined) return [];
    const { original_currency: currency, customer_country: country, type } = document;
    return lineOf({
      amount: document.gross_amount,
      currency,
      country,
      type,
      at: document.timestamp,
      sku: document.external_id,
      refunded: document.refunded_amount,
      isDisputed: document.status === "disputed",
    });
  });
  return [...cellsOf(entries), ...reported];
}

/** What is worth something from each moment on at which that changes. */
function mrrIn(facts: readonly Fact[], base: string): string[] {
  const timelines = timelinesOf(facts, base);
  const moments = new Set(timelines.flatMap(({ states }) => states.map(({ at }) => at)));
  const worths = [...moments]
    .sort((one, other) => one - other)
    .map((at) => {
      const worth = timelines.flatMap((timeline) =>
        stateAt(timeline, at)
          .filter(({ micros }) => micros > 0n)
          .map((item) => lineOf({ account: timeline.account, ...item })),
      );
      return { at: new Date(at).toISOString(), worth: worth.sort().join() };
    });
  return worths
    .filter(({ worth }, index) => worth !== (worths[index - 1]?.worth ?? ""))
    .map(({ at, worth }) => `from ${at} ${worth}`);
}

type Booked = Omit<Entry, "provider">;

/** Sums of all that is booked in one moment about one product: one reading may book it at once. */
function cellsOf(entries: readonly Booked[]): string[] {
  const cellOf = ({ kind, sku, currency, country, at }: Booked) =>
    lineOf({ at: new Date(at).toISOString(), kind, sku, currency, country });
  const cells = [...grouped(entries, cellOf)].map(([cell, some]) => {
    const sum = (of: "amount" | "tax" | "fee") =>
      some.reduce((total, entry) => total + (entry[of] ?? 0n), 0n);
    const sales = some.reduce((total, entry) => total + entry.sales, 0);
    return { cell, moved: [sum("amount"), sum("tax"), sum("fee"), BigInt(sales)] };
  });
  return cells
    .filter(({ moved }) => moved.some((amount) => amount !== 0n))
    .map(({ cell, moved }) => `${cell} ${moved.join(" ")}`);
}

function lineOf(reported: object): string {
  return JSON.stringify(reported, (_name, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value,
  );
}
