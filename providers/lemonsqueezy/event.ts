/** The envelope around every Lemon Squeezy object, and how an object's reader is made. */
import { z } from "zod";
import { limits } from "../../config.js";
import { exponentOf } from "../../schemas/currencies.js";
import type { FactBody } from "../../schemas/records.js";
import type { Decoded, DecodedFact, Known } from "../provider.js";

export interface LemonEvent {
  readonly name: string;
  /** Of the object; each type has ids of its own. */
  readonly id: string;
  readonly attributes: unknown;
  readonly known: Known;
}

export type Untold = Exclude<Decoded, { outcome: "facts" }>;
export type Told = readonly DecodedFact[] | Untold;
export type Reader = (event: LemonEvent) => Told;

/** A reader of one kind of object: what does not have its shape is rejected, saying where. */
export function reader<Shape extends z.ZodType>(
  shape: Shape,
  read: (attributes: z.output<Shape>, event: LemonEvent) => Told,
): Reader {
  const compiled = z.compile(shape);
  return (event) => {
    const parsed = compiled.safeParse(event.attributes);
    return parsed.success ? read(parsed.data, event) : malformed(parsed.error);
  };
}

export function ignored(why: string): Untold {
  return { outcome: "ignored", why };
}

export function rejected(reason: string, detail: string): Untold {
  return { outcome: "rejected", reason, detail };
}

/** Needed, but not in the event: Lemon Squeezy's API has it (`definitions.md`, Providers). */
export function unavailable(what: string): Untold {
  return rejected("enrichment_unavailable", `Lemon Squeezy must be asked: ${what}`);
}

export function isUntold(value: readonly unknown[] | Untold): value is Untold {
  return "outcome" in value;
}

/** @param at when Lemon Squeezy said so, ms since 1970 */
export function factsAt(at: number, bodies: readonly FactBody[]): DecodedFact[] {
  return bodies.map((body) => ({ happenedAt: at, body }));
}

const amountMax = Number(limits.amountMinorMax);
const unknownCurrency = "currency_unknown";
const timeShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** Fields as Lemon Squeezy writes them, turned into ours. */
export const field = {
  /** An integer, but a string where it is the object's own. */
  id: z.union([z.int(), z.string().min(1).max(255)]).transform(String),
  /** ISO 8601 with six decimals → ms since 1970 */
  time: z
    .string()
    .regex(timeShape)
    .transform((text) => Date.parse(text))
    .refine((time) => !Number.isNaN(time), "no time"),
  /** Minor units of the object's currency. */
  amount: z
    .int()
    .nonnegative()
    .max(amountMax)
    .transform((amount) => BigInt(amount)),
  currency: z
    .string()
    .transform((code) => code.toUpperCase())
    .refine((code) => exponentOf(code) !== null, unknownCurrency),
};

/** Says where the body is odd, never what it holds: details are kept outside the vault. */
export function malformed(error: z.ZodError): Untold {
  const places = error.issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.join(".")}: ${message}`);
  const currency = error.issues.find(({ message }) => message === unknownCurrency);
  return currency === undefined
    ? rejected("malformed", places.join("; "))
    : rejected(unknownCurrency, `${currency.path.join(".")} is no currency of ISO 4217`);
}
