/**
 * Shapes and checks of fields that several providers write alike, and shapes that every event
 * passes, compiled when they first read something.
 */
import { z } from "zod";
import { limits } from "../config.js";
import { exponentOf } from "../schemas/money/money.js";
import { parseFraction } from "../schemas/money/monthly.js";

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** A JSON object that is passed on unchanged: `z.looseObject` would copy every field. */
export const anyObject = z.custom<Readonly<Record<string, unknown>>>(
  (value) => isObject(value) && !Array.isArray(value),
  "Invalid input: expected object",
);

/** A check of credentials: all of these fields are given, or none of them. */
export function together<Name extends string>(...names: readonly Name[]) {
  return (
    given: Readonly<Partial<Record<Name, unknown>>>,
    context: Pick<z.core.$RefinementCtx, "addIssue">,
  ): void => {
    const missing = names.filter((name) => given[name] === undefined);
    const [first] = missing;
    if (first === undefined || missing.length === names.length) return;
    const message = `${names.join(", ")} come together`;
    context.addIssue({ code: "custom", path: [first], message });
  };
}

/** Minor units as a number of JSON. */
export const minorUnits = z
  .int()
  .nonnegative()
  .max(Number(limits.amountMinorMax))
  .transform((amount) => BigInt(amount));

/** The message of a shape's check that a currency failed. */
export const unknownCurrency = "currency_unknown";

/** ISO 4217, upper case, of a currency whose minor unit is known. */
export const isoCurrency = z.string().refine((code) => exponentOf(code) !== null, unknownCurrency);

/** The same, however it is written. */
export const anyCaseCurrency = z
  .string()
  .transform((code) => code.toUpperCase())
  .refine((code) => exponentOf(code) !== null, unknownCurrency);

/** A price, which may have fractions of a minor unit. */
export const priceText = z
  .string()
  .refine((text) => (parseFraction(text)?.numerator ?? -1n) >= 0n, "no amount");

/** RFC 3339 with up to nine decimals of a second → ms since 1970; what is finer is cut off. */
export const isoTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/)
  .transform((text) => Date.parse(text))
  .refine((time) => !Number.isNaN(time), "no time");

export const idText = z.string().min(1).max(255);

export const timeMsMax = 253_402_300_799_999; // 9999-12-31

/** ms since 1970, as a number. */
export const timeMs = z.int().nonnegative().max(timeMsMax);

/** What should be a text, where anything else says nothing. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

/** The same of an id, which may be a number. */
export function idOf(value: unknown): string | null {
  return typeof value === "number" ? String(value) : textOf(value);
}

export interface Compiled<Shape extends z.ZodType> {
  readonly _zod: Shape["_zod"];
  parse(value: unknown): z.output<Shape>;
  safeParse(value: unknown): z.ZodSafeParseResult<z.output<Shape>>;
}

/**
 * Compiled when it first reads something: no process reads all that providers report, and most
 * commands read nothing of it.
 */
export function compiled<Shape extends z.ZodType>(shape: Shape): Compiled<Shape> {
  let made: Shape | undefined;
  const make = (): Shape => (made ??= z.compile(shape));
  return {
    _zod: shape._zod,
    parse: (value) => make().parse(value),
    safeParse: (value) => make().safeParse(value),
  };
}

/** The same of a body that several functions read, one after the other: it is read once. */
export function readOnce<Shape extends z.ZodType>(
  shape: Shape,
): Pick<Compiled<Shape>, "safeParse"> {
  const reading = compiled(shape);
  const known = new WeakMap<object, ReturnType<typeof reading.safeParse>>();
  return {
    safeParse(value) {
      if (typeof value !== "object" || value === null) return reading.safeParse(value);
      const read = known.get(value) ?? reading.safeParse(value);
      known.set(value, read);
      return read;
    },
  };
}
