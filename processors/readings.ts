/** Several readings of one thing, told at different times: the newest counts. */
import type { Fact } from "../schemas/records.js";

/** Later at the provider is newer; at the same moment the greater event id. */
export function newestFirst(facts: readonly Fact[]): Fact[] {
  return [...facts].sort(
    (one, other) => other.happened_at - one.happened_at || (one.event_id < other.event_id ? 1 : -1),
  );
}

/** The order in which facts became known: receipt, then id. */
export function byReceipt(one: Fact, other: Fact): number {
  return one.received_at - other.received_at || (one.fact_id < other.fact_id ? -1 : 1);
}
