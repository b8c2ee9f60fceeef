/**
 * What is said of the payments of a subscription beside what it is worth. An adapter reports it
 * after the money and the worth in an event: facts are numbered by their place, which must stay
 * theirs.
 */
import type { BodyOf, FactBody } from "../schemas/records/records.js";

type Standing = BodyOf<"Standing">;

/** @param paidFrom when the period began that was paid last, where that is reported */
export function standingOf(
  { subscription, account }: Pick<Standing, "subscription" | "account">,
  standing: Standing["standing"] | null,
  at: number,
  paidFrom = at,
): FactBody[] {
  if (standing === null) return [];
  const from = Math.min(paidFrom, at);
  return [{ Standing: { subscription, account, at, paid_from: from, standing } }];
}

/** @param isUnpaid null where the provider does not say why it ended */
export function endStanding(isUnpaid: boolean | null): Standing["standing"] | null {
  if (isUnpaid === null) return null;
  return isUnpaid ? "ended_unpaid" : "ended_otherwise";
}
