/**
 * Whether a fact can be converted into base currency, and at which quote: asked at the endpoint, so
 * that what cannot is refused there, and again when it is booked. Pure: all it needs is given.
 */
import { exponentOf } from "./money.js";
import { isWithinBounds, malformedField, misdated } from "../fact-bounds.js";
import type { FactBody, Quote } from "../records/records.js";

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
