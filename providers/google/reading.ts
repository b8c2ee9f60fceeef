/** What the readers of Google's answers share: fields as Google writes them, and outcomes. */
import { z } from "zod";
import type { Decoded } from "../provider.js";
import { unknownCurrency } from "./money.js";

export type Untold = Exclude<Decoded, { outcome: "facts" }>;

export function ignored(why: string): Untold {
  return { outcome: "ignored", why };
}

export function rejected(reason: string, detail: string): Untold {
  return { outcome: "rejected", reason, detail };
}

/** Needed, but not answered (`definitions.md`, Providers). */
export function unavailable(what: string): Untold {
  return rejected("enrichment_unavailable", `Google Play must be asked: ${what}`);
}

export function isUntold(value: object): value is Untold {
  return "outcome" in value;
}

/** RFC 3339 with up to nine decimals → ms since 1970; what is finer is cut. */
export const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** A country adorns a payment and must not cost it: anything odd is an unknown country. */
export const country = z
  .string()
  .regex(/^[A-Z]{2}$/)
  .nullish()
  .catch(null)
  .transform((code) => code ?? null);

/** Says where an answer is odd, never what it holds: details are kept outside the vault. */
export function malformed(what: string, error: z.ZodError): Untold {
  const places = error.issues
    .slice(0, 3)
    .map(({ path, message }) => `${what}: ${path.join(".")}: ${message}`);
  const currency = error.issues.find(({ message }) => message === unknownCurrency);
  return currency === undefined
    ? rejected("malformed", places.join("; "))
    : rejected(unknownCurrency, `${what}: ${currency.path.join(".")} is no currency of ISO 4217`);
}
