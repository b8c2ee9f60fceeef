/** The envelope around every Lemon Squeezy object, and how an object's reader is made. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { compiled } from "../compiled.js";
import { anyCaseCurrency, anyObject, isoTime, minorUnits } from "../fields.js";
import { readerOf, rejected, type Unreported } from "../outcomes.js";
import type { DecodedFact, Known } from "../provider.js";

/** The outermost shape of every event; what is inside is JSON:API. */
export const envelopeShape = compiled(
  z.object({
    meta: z.object({
      event_name: z.string().min(1),
      test_mode: z.boolean().optional().catch(undefined),
    }),
    data: z.object({
      type: z.string().min(1),
      id: z.string().min(1),
      attributes: anyObject,
    }),
  }),
);

export interface LemonEvent {
  readonly name: string;
  /** Of the object; each type has ids of its own. */
  readonly id: string;
  readonly attributes: unknown;
  readonly known: Known;
}

type Reported = readonly DecodedFact[] | Unreported;
export type Reader = (event: LemonEvent) => Reported;

export const reader = readerOf<LemonEvent, readonly DecodedFact[]>(({ attributes }) => attributes);

/** Needed, but not in the event: Lemon Squeezy's API has it (`definitions.md`, Providers). */
export function unavailable(what: string): Unreported {
  return rejected("enrichment_unavailable", `Lemon Squeezy must be asked: ${what}`);
}

/** @param at when Lemon Squeezy said so, ms since 1970 */
export function factsAt(at: number, bodies: readonly FactBody[]): DecodedFact[] {
  return bodies.map((body) => ({ happenedAt: at, body }));
}

/** Fields as Lemon Squeezy writes them, turned into ours. */
export const field = {
  /** An integer, but a string where it is the object's own. */
  id: z.union([z.int(), z.string().min(1).max(255)]).transform(String),
  /** ISO 8601 with six decimals → ms since 1970 */
  time: isoTime,
  /** Minor units of the object's currency. */
  amount: minorUnits,
  currency: anyCaseCurrency,
};
