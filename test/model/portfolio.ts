/**
 * Random portfolios: whole histories of merchants' customers as provider events, and the order in
 * which they arrive (any, with repeats).
 */
import * as fc from "fast-check";
import { apiVersions, productObject } from "../../providers/stripe/payloads.js";
import { applePlans, tellApple } from "./apple-story.js";
import { customPlans, tellCustom } from "./custom-story.js";
import { googlePlans, tellGoogle } from "./google-story.js";
import { text } from "./json.js";
import { lemonPlans, tellLemonSqueezy } from "./lemonsqueezy-story.js";
import { paddlePlans, tellPaddle } from "./paddle-story.js";
import { paymentFates, type Payer, tellPayment } from "./payment-story.js";
import { recordPlans, tellRecords } from "./record-story.js";
import {
  amounts,
  countries,
  currencies,
  type Drawn,
  momentBefore,
  Script,
  type Sent,
  skus,
  starts,
} from "./story.js";
import { gumroadPlans, tellGumroad } from "./gumroad-story.js";
import { revenueCatPlans, tellRevenueCat } from "./revenuecat-story.js";
import { subscriptionPlans, tellSubscription } from "./subscription-story.js";

export interface Portfolio {
  readonly base: string;
  /** In order of arrival; an event may come more than once. */
  readonly deliveries: readonly Sent[];
  /** What a failure prints; the seed and the path repeat the rest. */
  [fc.toStringMethod](): string;
}

const oneOffs = fc.record({
  start: starts,
  amount: amounts,
  /** Null: without an invoice. */
  sku: fc.option(skus),
  fate: paymentFates,
});

const customers = fc.record({
  version: fc.constantFrom(...apiVersions),
  currency: currencies,
  country: countries,
  livemode: fc.nat(9).map((drawn) => drawn > 0),
  isConnected: fc.nat(5).map((drawn) => drawn === 0),
  subscriptions: fc.array(fc.record({ start: starts, plan: subscriptionPlans }), { maxLength: 3 }),
  oneOffs: fc.array(oneOffs, { maxLength: 2 }),
});
type Customer = Drawn<typeof customers>;

/** One customer's history; `index` counts the customers of a portfolio. */
type Chapter = (script: Script, index: number) => void;

/** Up to `max` customers of one provider. */
function chapters<T>(
  customersOf: fc.Arbitrary<T>,
  tell: (script: Script, plan: T, index: number) => void,
  max: number,
): fc.Arbitrary<Chapter[]> {
  const chapter = customersOf.map((plan): Chapter => {
    return (script, index) => tell(script, plan, index);
  });
  return fc.array(chapter, { minLength: 1, maxLength: max });
}

/** Stripe's stories have the most in them, and records are told by several providers. */
const providers = fc.oneof(
  { weight: 4, arbitrary: chapters(customers, tellCustomer, 3) },
  { weight: 2, arbitrary: chapters(recordPlans, tellRecords, 6) },
  chapters(applePlans, tellApple, 2),
  chapters(googlePlans, tellGoogle, 2),
  chapters(paddlePlans, tellPaddle, 2),
  chapters(lemonPlans, tellLemonSqueezy, 2),
  chapters(revenueCatPlans, tellRevenueCat, 2),
  chapters(gumroadPlans, tellGumroad, 2),
  chapters(customPlans, tellCustom, 3),
);

/** How many providers' customers a portfolio tells of. */
export interface Told {
  readonly minLength: number;
  readonly maxLength: number;
}

const plansOf = (told: Told) =>
  fc.record({
    base: fc.constantFrom("USD", "EUR", "GBP", "INR", "JPY"),
    /** Which products are named, and how: equal names make one product. */
    names: fc.subarray([
      ["prod_alpha", "Team Plan"],
      ["prod_beta", "Team plan"],
      ["prod_gamma", "Extra Seats"],
    ] as const),
    told: fc.array(providers, { ...told, size: "large" }),
    /** Drawn again and again, they sort the deliveries; all 0 is the order in which it happened. */
    order: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 50 }),
    repeats: fc.array(fc.nat(10_000), { maxLength: 20 }),
  });

/** Enough to meet every rule, little enough to be drawn by the hundred. */
const fewTold: Told = { minLength: 1, maxLength: 4 };

/** @param end nothing is dated later, ms since 1970 (a whole second) */
export function portfolios(end: number, many: Told = fewTold): fc.Arbitrary<Portfolio> {
  return plansOf(many).map(({ base, names, told, order, repeats }) => {
    const script = new Script(end);
    for (const [sku, name] of names) nameProduct(script, sku, name);
    for (const [index, tell] of told.flat().entries()) tell(script, index);
    const deliveries = delivered(script.sent, order, repeats);
    const described = deliveries.map(({ id, body }) => `${id} ${nameOf(body)}`).join(", ");
    return { base, deliveries, [fc.toStringMethod]: () => `${base}: ${described}` };
  });
}

function nameProduct(script: Script, id: string, name: string): void {
  const object = productObject({ id, name, createdAt: script.end });
  const [version] = apiVersions;
  const type = "product.created";
  script.stripe({ type, at: script.end, object, version, livemode: true, account: null });
}

function tellCustomer(script: Script, customer: Customer, index: number): void {
  const { version, currency, country, livemode, isConnected } = customer;
  // A connected account's customer may have the same id as one of ours.
  const payer: Payer = {
    customer: isConnected ? "cus_0" : `cus_${index}`,
    account: isConnected ? `acct_${index}` : null,
    version,
    currency,
    country,
    livemode,
  };
  // Of the Kuwaiti dinar only the newest quote is bundled.
  const startOf = ({ days, seconds }: Drawn<typeof starts>) =>
    momentBefore(script.end, { days: currency === "KWD" ? days % 45 : days, seconds });
  for (const { start, plan } of customer.subscriptions) {
    tellSubscription(script, payer, startOf(start), plan);
  }
  for (const { start, amount, sku, fate } of customer.oneOffs) {
    const lines = sku === null ? [] : [{ sku, amount, discount: 0n }];
    tellPayment(script, payer, startOf(start), lines, null, amount, fate);
  }
}

function delivered(
  sent: readonly Sent[],
  order: readonly number[],
  repeats: readonly number[],
): Sent[] {
  const again = sent.length === 0 ? [] : repeats.map((index) => sent[index % sent.length]);
  const all = [...sent, ...again].filter((event) => event !== undefined);
  const keyOf = (index: number) => (order[index % order.length] ?? 0) * (index % 7 === 0 ? 1 : 3);
  return all
    .map((event, index) => ({ event, key: keyOf(index), index }))
    .sort((a, b) => a.key - b.key || a.index - b.index)
    .map(({ event }) => event);
}

function nameOf(body: Sent["body"]): string {
  return text(body, "type") ?? text(body, "event_type") ?? text(body, "notificationType") ?? "";
}
