/**
 * Churns without a partner are listed as rejects, `no_open_subscription`, and resolved when one
 * comes. Pure.
 */
import type { RejectRow } from "../../../workspaces/rejects/rejects.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { isNamed, type Side } from "./pairing.js";

const reason = "no_open_subscription";

/**
 * Leaves out churns that name an existing subscription: they end it under any account
 * (`providers/record-facts.ts`).
 * @param changesOf of the churn's subscription, under any account
 */
export async function withoutStart(
  unpaired: readonly Side[],
  changesOf: (churn: Side) => Promise<readonly Change[]>,
): Promise<Side[]> {
  const waiting: Side[] = [];
  for (const churn of unpaired) {
    const known = isNamed(churn.pool) ? await changesOf(churn) : [];
    if (!known.some((change) => isStart(change) && change.at <= churn.at)) waiting.push(churn);
  }
  return waiting;
}

function isStart({ phase }: Change): boolean {
  return phase !== "ended" && phase !== "expired";
}

/** @param revision ms since 1970 */
export function rejectOf(churn: Side, revision: number): RejectRow {
  const detail = "No subscription that this churn could end is open at its time.";
  const received_at = churn.recorded_at;
  return { ...churn, received_at, step: "book", reason, detail, state: "open", revision };
}

/** @param revision ms since 1970 */
export function resolvedOf(churn: Side, revision: number): RejectRow {
  return { ...rejectOf(churn, revision), state: "resolved" };
}
