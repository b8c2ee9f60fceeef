/**
 * What adapters answer where they report no facts, how they read an object of a known shape, and
 * names of products, wherever an event or an answer carries a whole product.
 */
import type { z } from "zod";
import { shown } from "../schemas/bounds.js";
import { issueText } from "../schemas/issues.js";
import type { FactBody } from "../schemas/records/records.js";
import { compiled, isObject, unknownCurrency } from "./fields.js";
import type { Decoded } from "./provider.js";

export type Unreported = Exclude<Decoded, { outcome: "facts" }>;

export function ignored(why: string): Unreported {
  return { outcome: "ignored", why: shown(why) };
}

/** @param reason a word as rejects are listed by; @param detail for a person */
export function rejected(reason: string, detail: string): Unreported {
  return { outcome: "rejected", reason, detail: shown(detail) };
}

/** Amounts and states of one object that cannot be true together: nothing is booked by a guess. */
export function contradictory(detail: string): Unreported {
  return rejected("contradictory", detail);
}

export function isUnreported(value: object): value is Unreported {
  return "outcome" in value;
}

/** Names of products count beside what else an event reports, or without it. */
export function withNames(
  reported: readonly FactBody[] | Unreported,
  names: readonly Sku[],
): readonly FactBody[] | Unreported {
  const bodies = names.map((Sku) => ({ Sku }));
  if (!isUnreported(reported)) return [...reported, ...bodies];
  return reported.outcome === "rejected" || names.length === 0 ? reported : bodies;
}

/**
 * Says where something is odd, never what it holds: details are kept outside the vault.
 * @param what it is, where it is not the event's own body
 */
export function malformed(error: z.ZodError, what?: string): Unreported {
  const place = ({ path }: z.core.$ZodIssue): string =>
    (what === undefined ? "" : `${what}: `) + path.join(".");
  const currency = error.issues.find(({ message }) => message === unknownCurrency);
  if (currency !== undefined) {
    return rejected(unknownCurrency, `${place(currency)} is no currency of ISO 4217`);
  }
  const odd = error.issues.slice(0, placesMax).map((issue) => issueText(place(issue), issue));
  return rejected("malformed", odd.join("; "));
}

const placesMax = 3;

/**
 * Makes readers of one kind of object: what does not have its shape is rejected, saying where.
 * @param objectOf what of an event they read
 */
export function readerOf<Event, Reported>(objectOf: (event: Event) => unknown) {
  return <Shape extends z.ZodType>(
    shape: Shape,
    read: (object: z.output<Shape>, event: Event) => Reported | Unreported,
  ) => {
    const reading = compiled(shape);
    return (event: Event): Reported | Unreported => {
      const parsed = reading.safeParse(objectOf(event));
      return parsed.success ? read(parsed.data, event) : malformed(parsed.error);
    };
  };
}

export type Sku = Extract<FactBody, { Sku: unknown }>["Sku"];

/**
 * However deep it lies: the endpoint bounds depth and size of a body.
 * @param isProduct of an object that has an id
 */
export function productsIn(
  value: unknown,
  isProduct: (object: Readonly<Record<string, unknown>>, id: string) => boolean,
): Sku[] {
  const found: Sku[] = [];
  // Into one list: every event is walked, and lists of lists cost more than the walk.
  const collect = (part: unknown): void => {
    if (!isObject(part)) return;
    const { id, name } = part;
    const isNamed = typeof id === "string" && typeof name === "string" && name.trim() !== "";
    if (isNamed && isProduct(part, id)) found.push({ external_id: id, name: name.trim() });
    else for (const inner of Object.values(part)) collect(inner);
  };
  collect(value);
  return found;
}
