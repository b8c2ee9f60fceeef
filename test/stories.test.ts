/**
 * Stories of customers, read by the adapters and by the reference model: both readings must come to
 * the same MRR and the same money at every moment, whatever part of a story arrives, in any order.
 * (figures.test.ts proves the same through the service.)
 */
import * as fc from "fast-check";
import type { ProviderToken } from "../providers/provider.js";
import { factsOfAdapter } from "./model/adapter-facts.js";
import { applePlans, tellApple } from "./model/apple-story.js";
import { bundledQuotes } from "./model/bundled-quotes.js";
import type { Fact, ModelEvent } from "./model/facts.js";
import { withAnswersInBodies } from "./model/google-answers.js";
import { type GooglePlan, googlePlans, tellGoogle } from "./model/google-story.js";
import { gumroadPlans, tellGumroad } from "./model/gumroad-story.js";
import { must } from "./model/json.js";
import { expectLines } from "./model/lines.js";
import { lemonPlans, tellLemonSqueezy } from "./model/lemonsqueezy-story.js";
import { type Entry, moneyOf } from "./model/money.js";
import { stateAt, timelinesOf } from "./model/mrr.js";
import { paddlePlans, tellPaddle } from "./model/paddle-story.js";
import { revenueCatPlans, tellRevenueCat } from "./model/revenuecat-story.js";
import { grouped } from "./model/showing.js";
import {
  dayMs,
  type Drawn,
  inOrder,
  losses,
  Script,
  secondMs,
  withoutLost,
} from "./model/story.js";
import { stripePlans, tellStripe } from "./model/stripe-story.js";
import { webhooks } from "./model/webhooks.js";
import { providers } from "./provider-cases.js";

const end = Math.floor(Date.now() / dayMs) * dayMs - secondMs;
const quotes = bundledQuotes();
const adapters = withAnswersInBodies(providers);
const base = "EUR";
const runs = 250;

const arrivals = fc.record({
  lost: losses,
  order: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 }),
});
type Arrival = Drawn<typeof arrivals>;

describe("Stories of customers", () => {
  // Of the Kuwaiti dinar only the newest quote is bundled.
  const quotedStripePlans = stripePlans.filter(({ currency }) => currency !== "KWD");
  itIsReadTheSame("stripe", quotedStripePlans, (script, plan) => tellStripe(script, plan, 1));
  itIsReadTheSame("apple", applePlans, tellApple);
  itIsReadTheSame("revenuecat", revenueCatPlans, tellRevenueCat);
  itIsReadTheSame("paddle", paddlePlans, tellPaddle);
  itIsReadTheSame("lemonsqueezy", lemonPlans, (script, plan) => tellLemonSqueezy(script, plan, 1));
  itIsReadTheSame("gumroad", gumroadPlans, tellGumroad);
  itIsReadTheSame("google", googlePlans, tellGoogle, [lostBetween()]);
});

function itIsReadTheSame<Plan>(
  token: Exclude<ProviderToken, "custom">,
  plans: fc.Arbitrary<Plan>,
  tell: (script: Script, plan: Plan) => void,
  examples: [Plan, Arrival][] = [],
): void {
  const adapter = must(adapters.get(token), "an adapter");
  it(`should be read as the reference model reads them, whatever part arrives: ${token}`, () => {
    const property = fc.property(plans, arrivals, (plan, { lost, order }) => {
      const script = new Script(end);
      tell(script, plan);
      const arrived = inOrder(withoutLost(script.sent, lost), order).map((event, index) => ({
        ...event,
        receivedAt: end + index * secondMs,
      }));
      const [read, expected] = [factsOfAdapter(adapter, arrived), factsOfModel(arrived)];
      expectLines(token, figuresIn(read), figuresIn(expected));
    });
    fc.assert(property, { numRuns: runs, examples });
  });
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
  return [plan, { lost: [false, true, false, false, true], order: [0] }];
}

function factsOfModel(events: readonly ModelEvent[]): Fact[] {
  return events.flatMap(({ id, source, body, receivedAt }): Fact[] => {
    if (source === "record") throw new Error("a record has no adapter");
    const webhook = webhooks[source];
    if (!webhook.isLive(body)) return [];
    const told = { eventId: id, provider: source, toldAt: webhook.toldAt(body, receivedAt) };
    return webhook.read(body, receivedAt).map((fact) => ({ ...fact, ...told }));
  });
}

/** A line for each thing that both readings must come to. */
function figuresIn(facts: readonly Fact[]): string[] {
  const { entries, payments } = moneyOf(facts, base, quotes);
  const told = payments.map((payment) => {
    const { amount, currency, country, type, at, sku } = payment;
    const refunded = payment.refundedAt(end);
    const isDisputed = payment.isDisputedAt(end);
    return lineOf({ amount, currency, country, type, at, sku, refunded, isDisputed });
  });
  const names = facts.flatMap((fact) =>
    fact.kind === "naming" ? [`${fact.sku} is ${fact.name}`] : [],
  );
  return [...mrrIn(facts), ...cellsOf(entries), ...told, ...new Set(names)];
}

/** What is worth something from each moment on at which that changes. */
function mrrIn(facts: readonly Fact[]): string[] {
  const timelines = timelinesOf(facts, base, quotes);
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

/** Sums of all that is booked in one moment about one product: one reading may book it at once. */
function cellsOf(entries: readonly Entry[]): string[] {
  const cellOf = ({ kind, sku, currency, country, at }: Entry) =>
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

function lineOf(told: object): string {
  return JSON.stringify(told, (_name, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value,
  );
}
