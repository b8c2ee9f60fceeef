/** What facts say, whole: of each a test names what it depends on. */
import type { Fact, FactBody, Line, Quote } from "../../schemas/records/records.js";
import { factOf } from "./facts.js";

export type Body<Kind extends string> =
  Extract<FactBody, Record<Kind, unknown>> extends Record<Kind, infer Whole> ? Whole : never;

const unsaid = { account: null, country: null, lines: [] };
const sum = { payment: "p", at: 0, amount: 1_000n, currency: "EUR" };

export function payment(given: Partial<Body<"Payment">>) {
  const more = { type: null, tax: null, fee: null, ...unsaid };
  return { Payment: { ...sum, ...more, ...given } } satisfies FactBody;
}

export function purchase(given: Partial<Body<"Purchase">>) {
  const more = { type: "subscription" as const, tax: null, fee: null, ...unsaid };
  return { Purchase: { purchase: "in", ...more, ...given } } satisfies FactBody;
}

export function refund(given: Partial<Body<"Refund">>) {
  return {
    Refund: { refund: "r", ...sum, failed_at: null, ...unsaid, ...given },
  } satisfies FactBody;
}

export function refundTotal(given: Partial<Body<"RefundTotal">>) {
  return { RefundTotal: { ...sum, ...given } } satisfies FactBody;
}

/** @param perMonth of each item, in minor units; none: it is worth nothing from then on */
export function subscription(
  at: number,
  perMonth: readonly bigint[],
  given: Partial<Body<"Subscription">> = {},
) {
  const items = perMonth.map((monthly_numerator, place) => ({
    item: String(place),
    external_id: "sku",
    monthly_numerator,
    monthly_denominator: 1n,
  }));
  const steps = [{ at, items }];
  const account = { account: "a", country: null, currency: "EUR" };
  const more = { subscription: "s", ...account, phase: "changed" as const, steps };
  return { Subscription: { ...more, ...given } } satisfies FactBody;
}

/** @param weights by SKU */
export function linesOf(weights: Readonly<Record<string, bigint>>): Line[] {
  return Object.entries(weights).map(([external_id, weight]) => ({ external_id, weight }));
}

export function quoteOf(given: Partial<Quote> = {}): Quote {
  const currencies = { currency: "EUR", base_currency: "EUR" };
  return { ...currencies, rate: "1", date: "2026-01-01", source: "ecb", edition: 1, ...given };
}

/** Each of an event of its own, received and reported in that order, a millisecond apart. */
export function received(
  bodies: readonly FactBody[],
  given: (body: FactBody, place: number) => Partial<Omit<Fact, "body">> = () => ({}),
): Fact[] {
  return bodies.map((body, place) =>
    factOf(body, {
      fact_id: `f${place}`,
      event_id: `e${place}`,
      received_at: place,
      happened_at: place,
      quote: quoteOf(),
      ...given(body, place),
    }),
  );
}

/** Of a few things. */
export function ordersOf<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, place) =>
    ordersOf(items.toSpliced(place, 1)).map((rest) => [item, ...rest]),
  );
}
