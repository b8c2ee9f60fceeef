/**
 * How large the numbers of a fact may be, how long its texts and lists, and when it may be dated,
 * whichever adapter made it. What is beyond is a reject: it could not be stored.
 */
import { convertMinor } from "./money/money.js";
import type { FactBody, Item, Quote } from "./records/records.js";
import { idBytesMax, isStorable, isStorableName, tokenBytesMax } from "./text-bounds.js";

/**
 * The field whose text or list is beyond its bound or has a character that cannot be stored; null
 * when there is none. An adapter's own prefix of an id (`order:`) does not count.
 */
export function malformedField(value: unknown, name = ""): string | null {
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
export function isWithinBounds(body: FactBody, quote: Quote | null, max: bigint): boolean {
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
export function misdated(
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

/** Of what a `long` of Avro and a column of the ledger hold. */
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
