/**
 * Random portfolios: whole histories of merchants' customers as provider events, which of them
 * arrive, and in which order (any, with repeats).
 */
import * as fc from "fast-check";
import { apiVersions, productObject } from "../../../ops/payloads/stripe.js";
import { applePlans, emitApple } from "./apple-story.js";
import { googlePlans, emitGoogle } from "./google-story.js";
import { text } from "../readers/json.js";
import { lemonPlans, emitLemonSqueezy } from "./lemonsqueezy-story.js";
import { paddlePlans, emitPaddle } from "./paddle-story.js";
import { chargebeePlans, emitChargebee } from "./chargebee-story.js";
import { emitPolar, polarPlans } from "./polar-story.js";
import { recordPlans, emitCustom, emitRecords } from "./record-story.js";
import { inOrder, losses, Script, type Sent, withoutLost } from "./story.js";
import { gumroadPlans, emitGumroad } from "./gumroad-story.js";
import { revenueCatPlans, emitRevenueCat } from "./revenuecat-story.js";
import { stripePlans, emitStripe } from "./stripe-story.js";

export interface Portfolio {
  readonly base: string;
  /** In order of arrival; an event may come more than once. */
  readonly deliveries: readonly Sent[];
  /** What a failure prints; the seed and the path repeat the rest. */
  [fc.toStringMethod](): string;
}

/** One customer's history; `index` counts the customers of a portfolio. */
type Chapter = (script: Script, index: number) => void;

/** Up to `max` customers of one provider. */
function chapters<T>(
  customersOf: fc.Arbitrary<T>,
  report: (script: Script, plan: T, index: number) => void,
  max: number,
): fc.Arbitrary<Chapter[]> {
  const chapter = customersOf.map((plan): Chapter => {
    return (script, index) => report(script, plan, index);
  });
  return fc.array(chapter, { minLength: 1, maxLength: max });
}

/** Stripe's stories have the most in them, and records are reported by several providers. */
const providers = fc.oneof(
  { weight: 4, arbitrary: chapters(stripePlans, emitStripe, 3) },
  { weight: 2, arbitrary: chapters(recordPlans, emitRecords, 6) },
  chapters(applePlans, emitApple, 2),
  chapters(googlePlans, emitGoogle, 2),
  chapters(paddlePlans, emitPaddle, 2),
  chapters(lemonPlans, emitLemonSqueezy, 2),
  chapters(polarPlans, emitPolar, 2),
  chapters(chargebeePlans, emitChargebee, 2),
  chapters(revenueCatPlans, emitRevenueCat, 2),
  chapters(gumroadPlans, emitGumroad, 2),
  chapters(recordPlans, emitCustom, 3),
);

/** How many providers' customers a portfolio reports. */
export interface Reported {
  readonly minLength: number;
  readonly maxLength: number;
}

const plansOf = (reported: Reported) =>
  fc.record({
    base: fc.constantFrom("USD", "EUR", "GBP", "INR", "JPY"),
    /** Which products are named, and how: equal names make one product. */
    names: fc.subarray([
      ["prod_alpha", "Team Plan"],
      ["prod_beta", "Team plan"],
      ["prod_gamma", "Extra Seats"],
    ] as const),
    reported: fc.array(providers, { ...reported, size: "large" }),
    lost: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, losses),
    /** Drawn again and again, they sort the deliveries; all 0 is the order in which it happened. */
    order: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 50 }),
    repeats: fc.array(fc.nat(10_000), { maxLength: 20 }),
  });

/** Enough to meet every rule, little enough to be drawn by the hundred. */
const fewReported: Reported = { minLength: 1, maxLength: 4 };

/** @param end nothing is dated later, ms since 1970 (a whole second) */
export function portfolios(end: number, many: Reported = fewReported): fc.Arbitrary<Portfolio> {
  return plansOf(many).map(({ base, names, reported, lost, order, repeats }) => {
    const script = new Script(end);
    for (const [sku, name] of names) nameProduct(script, sku, name);
    for (const [index, report] of reported.flat().entries()) report(script, index);
    const deliveries = delivered(withoutLost(script.sent, lost), order, repeats);
    const described = deliveries.map(({ id, body }) => `${id} ${nameOf(body)}`).join(", ");
    return { base, deliveries, [fc.toStringMethod]: () => `${base}: ${described}` };
  });
}

function nameProduct(script: Script, id: string, name: string): void {
  const object = productObject({ id, name, createdAt: script.end });
  const [version] = apiVersions;
  const type = "product.created";
  script.stripe({ type, at: script.end, object, version });
}

function delivered(
  sent: readonly Sent[],
  order: readonly number[],
  repeats: readonly number[],
): Sent[] {
  const again = sent.length === 0 ? [] : repeats.map((index) => sent[index % sent.length]);
  const all = [...sent, ...again].filter((event) => event !== undefined);
  return inOrder(all, order);
}

function nameOf(body: Sent["body"]): string {
  return text(body, "type") ?? text(body, "event_type") ?? text(body, "notificationType") ?? "";
}
