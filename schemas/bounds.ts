/**
 * What an event may bring, whichever adapter made a fact of it: how long its texts and lists may be
 * and what they may hold, how large its numbers, when it may be dated, and whether it can be
 * converted into base currency, and at which quote. What is beyond is a reject: it could not be
 * stored. Checked at the endpoint, so that what cannot be booked is refused there, and again when
 * it is booked. Pure: all it needs is given.
 *
 * Texts: Postgres stores no NUL, and half a surrogate pair cannot be written as UTF-8: two texts
 * would become one.
 */
import { convertMinor, exponentOf } from "./money/money.js";
import type { FactBody, Item, Quote } from "./records/records.js";

/** Bytes of UTF-8: what a provider, or a sender, calls a thing by. */
export const idBytesMax = 255;
/** The same of accounts and subscriptions: Google names no bound for its purchase tokens. */
export const tokenBytesMax = 2_048;
/** Characters a person reads. */
export const nameLengthMax = 1_000;

/** Whether it has at most so many bytes of UTF-8, and no character that cannot be stored. */
export function isStorable(text: string, bytesMax: number): boolean {
  // No character of UTF-16 takes more than three bytes, so short texts need not be measured.
  const fits = text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax;
  return fits && hasOnlyCharacters(text);
}

export function isStorableName(text: string): boolean {
  return text.length <= nameLengthMax && hasOnlyCharacters(text);
}

/** None that Postgres cannot store or UTF-8 cannot write. */
export function hasOnlyCharacters(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** A sentence that may quote what an event brought (its type), so that any store keeps it. */
export function shown(sentence: string): string {
  // Half a surrogate pair, also one that was cut, becomes U+FFFD in UTF-8.
  const text = Buffer.from(sentence.slice(0, sentenceLengthMax)).toString();
  return text.replaceAll("\0", "\uFFFD");
}

const sentenceLengthMax = 500;

/**
 * The field whose text or list is beyond its bound or has a character that cannot be stored; null
 * when there is none. An adapter's own prefix of an id (`order:`) does not count.
 */
function malformedField(value: unknown, name = ""): string | null {
  if (typeof value === "string") return isWithinTextBound(name, value) ? null : name;
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value) && value.length > listLengthMax) return name;
  for (const [field, inside] of Object.entries(value)) {
    const odd = malformedField(inside, Array.isArray(value) ? name : field);
    if (odd !== null) return odd;
  }
  return null;
}

/** Lines of a payment, items of a subscription, announced steps. */
const listLengthMax = 1_000;

function isWithinTextBound(field: string, text: string): boolean {
  switch (field) {
    case "name":
      return isStorableName(text);
    case "country":
      return /^[A-Z]{2}$/.test(text);
    case "account":
    case "subscription":
      return isStorable(text, tokenBytesMax);
    case "pool":
      return isStorable(text, poolBytesMax);
    default:
      return isStorable(text.replace(ownPrefix, ""), idBytesMax);
  }
}

/** Of a payment, a purchase or an item: what kind of thing the provider's id names. */
const ownPrefix = /^[a-z_]{1,20}:/;
/** JSON of several ids, of which each character may be an escape. */
const poolBytesMax = 4 * tokenBytesMax;

/**
 * Whether every amount, tax, fee and weight is at most `max` in its own currency, what is converted
 * also in the base currency, and every monthly price a fraction of 64 bits.
 * @param quote by which the fact's money is converted; null where nothing is, or not yet
 * @param max minor units
 */
function isWithinBounds(body: FactBody, quote: Quote | null, max: bigint): boolean {
  return numbersIn(body).every(([name, value]) => {
    if (fractions.has(name)) return isInt64(value);
    const size = value < 0n ? -value : value;
    if (size > max || name === "weight" || quote === null) return size <= max;
    return convertMinor(size, quote.rate, quote.currency, quote.base_currency) <= max;
  });
}

/** Whether a monthly price can be written down. */
export function isMonthlyWithinBounds({
  monthly_numerator: numerator,
  monthly_denominator: denominator,
}: Item): boolean {
  return isInt64(numerator) && isInt64(denominator);
}

/**
 * The days of the store end in June 2149 and then begin anew: what a subscription is worth can be
 * reported up to here.
 */
export const announcedBefore = "2149-01-01";
/** ms since 1970 */
export const announcedLatest = Date.parse(announcedBefore) - 1;

/**
 * A moment of a fact that is none it may be dated at, or null: all are from `earliest` to `latest`,
 * but what a subscription is worth, or that it ended, may lie ahead, since it comes true by itself.
 */
function misdated(
  { happenedAt, body }: { readonly happenedAt: number; readonly body: FactBody },
  { earliest, latest }: { readonly earliest: number; readonly latest: number },
): number | null {
  // No comparison is true of what is no time at all.
  const isOutside = (last: number) => (at: number) => !(at >= earliest && at <= last);
  const [own, last] =
    "Subscription" in body
      ? [announcedSteps(body.Subscription).map(({ at }) => at), announcedLatest]
      : [momentsIn(body), "Standing" in body ? announcedLatest : latest];
  return [happenedAt].find(isOutside(latest)) ?? own.find(isOutside(last)) ?? null;
}

/** The steps of a subscription without those announced for later than an event may name. */
export function announcedSteps({ steps }: Pick<Subscription, "steps">): Subscription["steps"] {
  return steps.filter(({ at }, index) => index === 0 || !(at > announcedLatest));
}

/** Whether it fits a `long` of Avro and a column of the ledger. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

type Subscription = Extract<FactBody, { Subscription: unknown }>["Subscription"];

/** Fields of `Item` (`records.ts`). */
const fractions: ReadonlySet<string> = new Set(["monthly_numerator", "monthly_denominator"]);

/** Whole numbers are money, weights or fractions: times are no bigints. */
function numbersIn(value: unknown, name = ""): [name: string, value: bigint][] {
  if (typeof value === "bigint") return [[name, value]];
  if (Array.isArray(value)) return value.flatMap((each) => numbersIn(each, name));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([field, inside]) => numbersIn(inside, field));
}

/** What is a `number` is a time: all else that is counted is a bigint. */
function momentsIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(momentsIn);
}

export interface ConversionBounds {
  /** Minor units, of the original and of the base currency. */
  readonly amountMinorMax: bigint;
  /** ms since 1970 of the earliest and the latest moment a fact may be dated. */
  readonly earliest: number;
  readonly latest: number;
  readonly quote: (currency: string, at: number) => Quote | null;
}

/** `quote` is null where nothing is to be converted. */
export type Conversion = { readonly ok: true; readonly quote: Quote | null } | Unconvertible;

export type Unconvertible = { readonly ok: false } & (
  | { readonly reason: "amount_too_large" }
  | { readonly reason: "malformed"; readonly field: string }
  | { readonly reason: "dated_too_early" | "dated_too_late"; readonly at: number }
  | (Dated & { readonly reason: "currency_unknown" | "fx_rate_missing" })
);

/** Money, and the moment whose rate counts, ms since 1970. */
interface Dated {
  readonly currency: string;
  readonly at: number;
}

/** @param fact its body, and when it was received, ms since 1970 */
export function conversionOf(
  fact: { readonly happenedAt: number; readonly body: FactBody },
  by: ConversionBounds,
): Conversion {
  const { body } = fact;
  const field = malformedField(body);
  if (field !== null) return { ok: false, reason: "malformed", field };
  const dated = convertedAs(body);
  if (dated !== null && exponentOf(dated.currency) === null) {
    return { ok: false, reason: "currency_unknown", ...dated };
  }
  // What is priced may not lie ahead, even of what may otherwise: it needs a rate.
  const ahead = dated !== null && dated.at > by.latest ? dated.at : null;
  const at = misdated(fact, by) ?? ahead;
  if (at !== null) {
    return { ok: false, reason: at < by.earliest ? "dated_too_early" : "dated_too_late", at };
  }
  if (dated === null) return exactly(body, null, by);
  const quote = by.quote(dated.currency, dated.at);
  if (quote === null) return { ok: false, reason: "fx_rate_missing", ...dated };
  return exactly(body, quote, by);
}

/** For a person: where it is, never what it holds. */
export function malformedDetail(field: string): string {
  return `The event's ${field} is too long, or has a NUL or half a surrogate pair.`;
}

function exactly(body: FactBody, quote: Quote | null, by: ConversionBounds): Conversion {
  const isExact = isWithinBounds(body, quote, by.amountMinorMax);
  return isExact ? { ok: true, quote } : { ok: false, reason: "amount_too_large" };
}

/** Null when nothing is converted: a purchase, a link, a subscription that is worth nothing. */
export function convertedAs(body: FactBody): Dated | null {
  if ("Payment" in body) return { currency: body.Payment.currency, at: body.Payment.at };
  if ("Refund" in body) return { currency: body.Refund.currency, at: body.Refund.at };
  if ("RefundTotal" in body) {
    return { currency: body.RefundTotal.currency, at: body.RefundTotal.at };
  }
  if ("Dispute" in body) {
    const { currency, withdrawn_at: withdrawnAt, returned_at: returnedAt } = body.Dispute;
    const at = withdrawnAt ?? returnedAt;
    return at === null ? null : { currency, at };
  }
  if ("Subscription" in body) {
    const { currency, steps } = body.Subscription;
    const first = steps[0];
    const priced = steps.some((step) => step.items.length > 0);
    return first && priced ? { currency, at: first.at } : null;
  }
  return null;
}
