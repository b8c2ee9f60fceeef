/** The envelope around Chargebee's objects, how they are read, and what its amounts mean. */
import { z } from "zod";
import { exponentOf } from "../../schemas/money/money.js";
import type { FactBody } from "../../schemas/records/records.js";
import { anyObject, idText, isoCurrency, minorUnits, readOnce } from "../fields.js";
import { readerOf, rejected, type Unreported } from "../outcomes.js";
import type { DecodedFact, Known } from "../provider.js";

/** Unix seconds → ms since 1970 */
const time = z
  .int()
  .nonnegative()
  .max(253_402_300_799) // 9999-12-31
  .transform((seconds) => seconds * 1000);

export const envelopeShape = readOnce(
  z.object({ event_type: z.string().min(1), occurred_at: time, content: anyObject }),
);

export interface ChargebeeEvent {
  readonly type: string;
  /** `occurred_at`, ms since 1970 */
  readonly at: number;
  readonly object: unknown;
  /** All objects of the event, by their names. */
  readonly content: Readonly<Record<string, unknown>>;
  readonly known: Known;
}

export type Reported = readonly DecodedFact[] | Unreported;
export type Reader = (event: ChargebeeEvent) => Reported;

export const reader = readerOf<ChargebeeEvent, readonly DecodedFact[]>(({ object }) => object);

/** Fields as Chargebee writes them, turned into ours. */
export const field = {
  id: idText,
  time,
  amount: minorUnits,
  currency: isoCurrency,
  country: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .nullish()
    .catch(null),
  /** Since when the object is as it is: ms since 1970, which orders its readings. */
  version: z.int().positive().max(253_402_300_799_999).nullish(),
};

/** @param version of the object */
export function factsAt(
  version: number | null | undefined,
  { at }: Pick<ChargebeeEvent, "at">,
  bodies: readonly FactBody[],
): DecodedFact[] {
  return bodies.map((body) => ({ happenedAt: version ?? at, body }));
}

/** Documented without decimals; of the others of ISO 4217 nobody says how they are written. */
const zeroDecimal: ReadonlySet<string> = new Set(["JPY", "KRW", "XAF", "XOF"]);
/** All others are sent with two decimals, also those of three. */
const sentDecimals = 2;

/**
 * What an amount is multiplied with to be ISO minor units; null: nobody says. Source:
 * apidocs.chargebee.com, currencies, whole number currency values.
 */
export function isoFactor(currency: string): bigint | null {
  const exponent = exponentOf(currency) ?? sentDecimals;
  if (exponent < sentDecimals) return zeroDecimal.has(currency) ? 1n : null;
  return 10n ** BigInt(exponent - sentDecimals);
}

export function unitUnclear(currency: string): Unreported {
  const detail = `Chargebee does not document how amounts in ${currency} are written`;
  return rejected("amount_unclear", detail);
}
