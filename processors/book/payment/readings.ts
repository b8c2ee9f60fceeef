/** Several readings of one thing: the newest counts. */
import { compare } from "../../../runtime/lists.js";
import type { BodyOf, Fact, FactBody } from "../../../schemas/records/records.js";

export interface Reading<Body> {
  readonly fact: Fact;
  readonly body: Body;
}

/** The bodies that `bodyIn` finds, in the order of the facts. */
export function readingsOf<Body>(
  facts: readonly Fact[],
  bodyIn: (body: FactBody) => Body | null,
): Reading<Body>[] {
  const readings: Reading<Body>[] = [];
  for (const fact of facts) {
    const body = bodyIn(fact.body);
    if (body !== null) readings.push({ fact, body });
  }
  return readings;
}

export function refundIn(body: FactBody): BodyOf<"Refund"> | null {
  return "Refund" in body ? body.Refund : null;
}

/**
 * By the provider's time; at the same moment the greater event id; of one event the later reading,
 * which knows what the provider's API added.
 */
export function byNewest(one: Fact, other: Fact): number {
  return (
    other.happened_at - one.happened_at ||
    compare(other.event_id, one.event_id) ||
    byReceipt(other, one)
  );
}

/**
 * As `byNewest`, but of several events of one moment the greatest amount is newer: a payment grows
 * by captures, which Stripe dates by whole seconds.
 */
export function paymentsNewestFirst(facts: readonly Fact[]): Fact[] {
  const readings = facts.toSorted(byNewest);
  const amounts = new Map<string, bigint>();
  for (const { event_id: event, body } of readings) {
    // A later reading of one event may correct it.
    if ("Payment" in body && !amounts.has(event)) amounts.set(event, body.Payment.amount);
  }
  const amountOf = (fact: Fact): bigint => amounts.get(fact.event_id) ?? 0n;
  return readings.sort(
    (one, other) => other.happened_at - one.happened_at || compare(amountOf(other), amountOf(one)),
  );
}

/** The order in which facts became known. */
export function byReceipt(one: Fact, other: Fact): number {
  return one.received_at - other.received_at || compare(one.fact_id, other.fact_id);
}
