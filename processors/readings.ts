/** Several readings of one thing, told at different times: the newest counts. */
import type { Fact } from "../schemas/records.js";

/**
 * Later at the provider is newer; at the same moment the greater event id; of one event the later
 * reading, which knows what the provider's API added.
 */
export function newestFirst(facts: readonly Fact[]): Fact[] {
  return [...facts].sort(
    (one, other) =>
      other.happened_at - one.happened_at ||
      inOrder(other.event_id, one.event_id) ||
      byReceipt(other, one),
  );
}

/** The order in which facts became known: receipt, then id. */
export function byReceipt(one: Fact, other: Fact): number {
  return one.received_at - other.received_at || inOrder(one.fact_id, other.fact_id);
}

function inOrder(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
