/** What an adapter reads of an event, for tests that look at a part of it. */
import {
  priceObject,
  type PriceInput,
  subscriptionObject,
  type JsonObject,
  type SubscriptionInput,
} from "../../ops/payloads/stripe.js";
import type { Decoded, Question } from "../../providers/provider.js";
import type { Fact, FactBody } from "../../schemas/records/records.js";
import { dayMs } from "./days.js";
import type { Body } from "./fact-bodies.js";
import { quoteOf } from "./fact-bodies.js";
import { factOf } from "./facts.js";

/** None of what is ignored or rejected. */
export function bodiesOf(decoded: Decoded): FactBody[] {
  return decoded.outcome === "facts" ? decoded.facts.map(({ body }) => body) : [];
}

export function statesOf(decoded: Decoded): Body<"Subscription">[] {
  return bodiesOf(decoded).flatMap((body) => ("Subscription" in body ? [body.Subscription] : []));
}

/** `day: minor units a month` of each step, days since then. */
export function worthByDay(decoded: readonly Decoded[], since: number): string {
  return decoded
    .flatMap(statesOf)
    .flatMap(({ steps }) => steps)
    .map(({ at, items }) => {
      const worth = items.reduce((sum, item) => sum + item.monthly_numerator, 0n);
      return `${Math.floor((at - since) / dayMs)}: ${worth}`;
    })
    .join("; ");
}

/** Currency and minor units a month of the first item; else why it was rejected. */
export function worthIn(decoded: Decoded): string {
  if (decoded.outcome !== "facts") return "reason" in decoded ? decoded.reason : "";
  const [state] = statesOf(decoded);
  return `${state?.currency} ${state?.steps[0]?.items[0]?.monthly_numerator}`;
}

/** Paths without whose answer it cannot be read. */
export function requiredOf(
  questions: readonly Question[],
  answers: ReadonlyMap<string, unknown> = new Map(),
): string[] {
  return questions.flatMap(({ path, importance }) =>
    importance === "required" && !answers.has(path) ? [path] : [],
  );
}

/** The facts of one event in their order, as normalizing makes them; converted at par. */
export function factsOf(decoded: Decoded, given: Partial<Omit<Fact, "body">>): Fact[] {
  const facts = decoded.outcome === "facts" ? decoded.facts : [];
  return facts.map(({ body, happenedAt }, place) =>
    factOf(body, {
      quote: quoteOf(),
      happened_at: happenedAt,
      fact_id: `${given.event_id ?? "e"}:${place}`,
      ...given,
    }),
  );
}

/** An active subscription of Stripe, in euros. */
export function stripeSubscription(
  createdAt: number,
  prices: readonly Partial<PriceInput & { quantity: number; discounts: JsonObject[] }>[] = [{}],
  more: Partial<SubscriptionInput> = {},
): JsonObject {
  return subscriptionObject({
    id: "sub_1",
    customer: "cus_1",
    currency: "eur",
    status: "active",
    createdAt,
    items: prices.map(({ quantity = 1, discounts, ...price }, place) => ({
      id: `si_${place + 1}`,
      quantity,
      ...(discounts && { discounts }),
      price: priceObject({
        id: `price_${place + 1}`,
        product: `prod_${place + 1}`,
        currency: "eur",
        unitAmount: 1000n,
        ...price,
      }),
    })),
    ...more,
  });
}
