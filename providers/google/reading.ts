/** What the readers of Google's answers share: fields as Google writes them, and outcomes. */
import { z } from "zod";
import { rejected, type Unreported } from "../outcomes.js";

/** Needed, but not answered (`definitions.md`, Providers). */
export function unavailable(what: string): Unreported {
  return rejected("enrichment_unavailable", `Google Play must be asked: ${what}`);
}

/** RFC 3339 with up to nine decimals → ms since 1970; what is finer is cut. */
export const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** A country is optional for a payment: an invalid one is read as unknown. */
export const country = z
  .string()
  .regex(/^[A-Z]{2}$/)
  .nullish()
  .catch(null)
  .transform((code) => code ?? null);
