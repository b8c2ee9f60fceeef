/** The envelope around every Paddle entity, and how an entity's reader is made from its shape. */
import { z } from "zod";
import { limits } from "../../config.js";
import { exponentOf } from "../../schemas/currencies.js";
import type { FactBody } from "../../schemas/records.js";
import type { Decoded, Known } from "../provider.js";

export interface PaddleEvent {
  readonly type: string;
  /** `occurred_at`, ms since 1970 */
  readonly at: number;
  readonly data: unknown;
  readonly known: Known;
}

export type Untold = Exclude<Decoded, { outcome: "facts" }>;
export type Told = readonly FactBody[] | Untold;
export type Reader = (event: PaddleEvent) => Told;

/** A reader of one kind of entity: what does not have its shape is rejected, saying where. */
export function reader<Shape extends z.ZodType>(
  shape: Shape,
  read: (data: z.output<Shape>, event: PaddleEvent) => Told,
): Reader {
  const compiled = z.compile(shape);
  return (event) => {
    const parsed = compiled.safeParse(event.data);
    return parsed.success ? read(parsed.data, event) : malformed(parsed.error);
  };
}

export function ignored(why: string): Untold {
  return { outcome: "ignored", why };
}

export function rejected(reason: string, detail: string): Untold {
  return { outcome: "rejected", reason, detail };
}

export function isUntold(value: readonly unknown[] | Untold): value is Untold {
  return "outcome" in value;
}

const amountLengthMax = limits.amountMinorMax.toString().length;
const unknownCurrency = "currency_unknown";
/** RFC 3339 with up to nine decimals of a second; what is below a millisecond is cut off. */
const timeShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** Fields as Paddle writes them, turned into ours. */
export const field = {
  id: z.string().min(1).max(255),
  /** RFC 3339 → ms since 1970 */
  time: z
    .string()
    .regex(timeShape)
    .transform((text) => Date.parse(text))
    .refine((time) => !Number.isNaN(time), "no time"),
  /**
   * A string of the currency's lowest denomination. Of all currencies Paddle takes, those are the
   * minor units of ISO 4217: "1000" JPY is ¥1000.
   */
  amount: z
    .string()
    .regex(/^-?\d+$/)
    .max(amountLengthMax + 1)
    .transform((text) => BigInt(text)),
  /** ISO 4217, upper case */
  currency: z.string().refine((code) => exponentOf(code) !== null, unknownCurrency),
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
