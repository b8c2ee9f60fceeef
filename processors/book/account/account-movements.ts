/**
 * What should be recorded of one account: under each event, in order of receipt, the movements by
 * which the account differs from what was known before. So batching never shows, and every reading
 * of the past is a sum of rows (`definitions.md`, Two clocks). Pure.
 */
import { compare } from "../../../runtime/order.js";
import { plainMrr } from "../../../schemas/money/monthly.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { Account } from "./account.js";
import { Difference, type Movement } from "./difference.js";

export interface MovementRow
  extends
    Omit<Movement, "mrr">,
    Pick<
      Change,
      "workspace" | "environment" | "account" | "provider" | "recorded_at" | "event_id"
    > {
  /** Decimal text of base currency, up to six places. */
  readonly mrr: string;
}

/**
 * @param changes all of one account, in any order
 * @returns the rows of one event after another, so that the caller may pause in between
 */
export function* accountMovements(changes: readonly Change[]): Generator<readonly MovementRow[]> {
  const account = new Account();
  const received = changes.toSorted(byReceipt);
  for (let index = 0; index < received.length;) {
    const cause = received[index];
    if (cause === undefined) break;
    const difference = new Difference();
    for (; isOfEvent(received[index], cause); index += 1) {
      const change = received[index];
      if (change !== undefined) account.add(change, difference);
    }
    yield difference.movements.map((movement) => rowOf(movement, cause));
  }
}

function isOfEvent(change: Change | undefined, cause: Change): boolean {
  return change?.recorded_at === cause.recorded_at && change.event_id === cause.event_id;
}

function rowOf(movement: Movement, cause: Change): MovementRow {
  const { workspace, environment, account, provider, recorded_at, event_id } = cause;
  return {
    workspace,
    environment,
    account,
    provider,
    ...movement,
    mrr: plainMrr(movement.mrr),
    recorded_at,
    event_id,
  };
}

function byReceipt(one: Change, other: Change): number {
  return (
    compare(one.recorded_at, other.recorded_at) ||
    compare(one.event_id, other.event_id) ||
    compare(one.change_id, other.change_id) ||
    one.revision - other.revision
  );
}
