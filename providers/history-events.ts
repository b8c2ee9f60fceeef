/** What the histories of several providers have in common: events made of present states. */
import { hash } from "node:crypto";
import { canonicalJson } from "../schemas/canonical-json.js";
import type { FactBody } from "../schemas/records/records.js";
import type { ListedPayment } from "./backfill.js";
import type { Decoded } from "./provider.js";

/** What an object reports, before its event gets an id. */
export interface Reported {
  readonly type: string;
  /** ms since 1970: orders the readings of one thing */
  readonly at: number;
  readonly object: Readonly<Record<string, unknown>>;
  /** As first read, for good: a later reading of the same past knows no better. Its name. */
  readonly once?: string;
  /** It may have been so before, and otherwise in between: each reading reports it anew. */
  readonly mayRecur?: boolean;
}

/** All ids that `historyId` makes begin so; none that a provider gives does. */
export const historyPrefix = "history:";

/**
 * The id holds what is reported but not when it was read, nor what changes without a meaning, so
 * that the same state read twice is one event; but for states that come back.
 * @param source id of the object that reports it
 * @param given.passing keys whose values change without a meaning, wherever they stand
 * @param given.reading when it was read, as text
 */
export function historyId(
  source: string,
  { type, object, once, mayRecur }: Reported,
  given: { readonly passing: RegExp; readonly reading: string },
): string {
  const state = once ?? stateDigest(object, given.passing);
  const reading = mayRecur === true ? `:${given.reading}` : "";
  return `${historyPrefix}${source}:${type}:${state}${reading}`;
}

function stateDigest(object: Reported["object"], passing: RegExp): string {
  return hash("sha256", canonicalJson(object, passing)).slice(0, 32);
}

/** As the adapter reads them, so that the comparison finds what booking made of them. */
export function listedPayments(decoded: Decoded, refunded: bigint): ListedPayment[] {
  if (decoded.outcome !== "facts") return [];
  const bodies = decoded.facts.map(({ body }) => body);
  return paymentsIn(bodies, refunded);
}

/** @param refunded of each payment among them */
export function paymentsIn(facts: readonly FactBody[], refunded: bigint): ListedPayment[] {
  return facts.flatMap((fact) => {
    if (!("Payment" in fact)) return [];
    const { payment, at, currency, amount, fee, tax } = fact.Payment;
    return [{ payment, at, currency, amount, refunded, fee, tax }];
  });
}
