/** What the parts of a random portfolio share: the calendar, the ids and the list of deliveries. */
import * as fc from "fast-check";
import { type EventInput, type JsonObject, stripeEvent } from "../../../ops/payloads/stripe.js";
import { monthsAfter } from "../../../ops/demo/calendar.js";
import type { Source } from "../facts.js";

export const secondMs = 1000;
export const dayMs = 24 * 60 * 60 * secondMs;
const historyDaysMax = 3 * 365;

/** What an arbitrary draws. */
export type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;

/** One event as it will be sent. */
export interface Sent {
  readonly id: string;
  readonly source: Source;
  readonly body: JsonObject;
}

export interface Moment {
  readonly days: number;
  readonly seconds: number;
}

/** Some time after another; often the same second or day, to make ties. */
export const gaps: fc.Arbitrary<Moment> = fc.record({
  days: fc.oneof(
    { weight: 1, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.nat(45) },
    { weight: 1, arbitrary: fc.nat(400) },
  ),
  seconds: fc.oneof(fc.constant(0), fc.nat(86_399)),
});

/** Days before the end of the portfolio; recent ones are as likely as all older ones. */
export const starts: fc.Arbitrary<Moment> = fc.record({
  days: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: historyDaysMax })),
  seconds: fc.nat(86_399),
});

export const currencies = fc.constantFrom("USD", "EUR", "GBP", "JPY", "INR", "KWD", "ISK", "CHF");
/** Of the Kuwaiti dinar only the newest quote is bundled. */
export const pastCurrencies = currencies.filter((currency) => currency !== "KWD");
/** Minor units of ISO 4217; Stripe wants the last digit of three-decimal currencies to be 0. */
export const amounts = fc.oneof(fc.constantFrom(10n, 990n, 1000n, 9990n), fc.bigInt(10n, 500_000n));
export const skus = fc.constantFrom("prod_alpha", "prod_beta", "prod_gamma", "prod_delta");
export const countries = fc.constantFrom(null, "DE", "US", "JP");

/** Null three times out of four. */
export function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

/** The whole second `start` before the end. */
export function momentBefore(end: number, start: Moment): number {
  return end - start.days * dayMs - start.seconds * secondMs;
}

export function after(time: number, gap: Moment): number {
  return time + gap.days * dayMs + gap.seconds * secondMs;
}

/** Calendar months after, or the month's last day when it has no such day. */
export function periodEnd(time: number, period: keyof typeof monthsOf | "week"): number {
  return period === "week" ? time + 7 * dayMs : monthsAfter(time, monthsOf[period]);
}

const monthsOf = { month: 1, quarter: 3, year: 12 } as const;

/** Which events never arrive, by their place again and again; empty: all of them do. */
export const losses: fc.Arbitrary<boolean[]> = fc.array(
  fc.nat(2).map((drawn) => drawn === 0),
  { maxLength: 60, size: "max" },
);

export function withoutLost<T>(events: readonly T[], lost: readonly boolean[]): T[] {
  return events.filter((_event, index) => lost[index % lost.length] !== true);
}

/** @param keys drawn again and again, they sort the events; all 0 leave them as they happened */
export function inOrder<T>(events: readonly T[], keys: readonly number[]): T[] {
  const keyOf = (index: number) => (keys[index % keys.length] ?? 0) * (index % 7 === 0 ? 1 : 3);
  return events
    .map((event, index) => ({ event, key: keyOf(index), index }))
    .sort((a, b) => a.key - b.key || a.index - b.index)
    .map(({ event }) => event);
}

/** Stripe's minor units of an amount in those of ISO 4217. */
export function stripeAmount(amount: bigint, currency: string): bigint {
  if (currency === "ISK") return amount * 100n;
  return currency === "KWD" ? amount * 10n : amount;
}

/** Collects the events of one portfolio and numbers their ids. */
export class Script {
  readonly sent: Sent[] = [];
  #ids = 0;

  constructor(
    /** ms since 1970; nothing is dated later. */
    readonly end: number,
  ) {}

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${String(this.#ids).padStart(4, "0")}`;
  }

  /** For providers whose ids are numbers. */
  number(): number {
    this.#ids += 1;
    return this.#ids;
  }

  /** Under an id of its own, unless it has one. */
  record(body: JsonObject): void {
    const id = this.id("record");
    this.sent.push({ id, source: "record", body: { event_id: id, ...body } });
  }

  /** Leaves out what would lie after the end. */
  send(source: Source, at: number, prefix: string, bodyOf: (id: string) => JsonObject): void {
    if (at > this.end) return;
    const id = this.id(prefix);
    this.sent.push({ id, source, body: bodyOf(id) });
  }

  stripe(event: Omit<EventInput, "id">): void {
    this.send("stripe", event.at, "evt", (id) => stripeEvent({ ...event, id }));
  }
}
