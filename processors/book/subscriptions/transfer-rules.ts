/**
 * A subscription has one account at a time (`definitions.md`, MRR). So beside a change under
 * another account stands an end under the previous one, of the same moment and event. It is never
 * removed: a superfluous end changes nothing. Pure.
 */
import { compare, placeIn } from "../../../runtime/lists.js";
import { transferSuffix } from "../../../schemas/movements.js";
import { type Change, timeOf } from "../../../schemas/subscriptions/change.js";

/** What orders a change among those of its subscription. */
export type Reported = Omit<Change, "revision" | "void" | "steps" | "currency" | "country">;

/** SQL condition: the change was reported under its account, and not derived as an end. */
export const isReportedSql = `NOT endsWith(change_id, '${transferSuffix}')
  AND NOT endsWith(change_id, ':ended')`;

export function isReported({ change_id: id }: Pick<Change, "change_id">): boolean {
  return !id.endsWith(transferSuffix) && !id.endsWith(":ended");
}

export type Subscription = Pick<Change, "workspace" | "environment" | "provider" | "subscription">;

export function nameOfSubscription(of: Subscription): string {
  return JSON.stringify([of.workspace, of.environment, of.provider, of.subscription]);
}

/**
 * The ends needed by what is known now or was known before: one wherever consecutive changes, in
 * order of receipt, are under different accounts.
 * @param reported one subscription, of all its accounts
 */
export function transferEnds(reported: readonly Reported[]): Change[] {
  const ends = new Map<string, Change>();
  const inTime: Reported[] = [];
  const received = reported.toSorted((one, other) => compare(receiptOf(one), receiptOf(other)));
  for (const change of received) {
    const time = timeOf(change);
    const place = placeIn(inTime, (other) => timeOf(other) < time);
    const [before, after] = [inTime[place - 1], inTime[place]];
    for (const [account, shown] of [
      [before?.account, change],
      [change.account, after],
    ] as const) {
      if (account === undefined || shown === undefined || account === shown.account) continue;
      ends.set(JSON.stringify([account, shown.change_id]), endFor(account, shown));
    }
    inTime.splice(place, 0, change);
  }
  return [...ends.values()];
}

/** At the place of the change in the order of time, also among several of one moment. */
function endFor(account: string, shown: Reported): Change {
  return {
    ...shown,
    account,
    change_id: `${shown.change_id}${transferSuffix}`,
    revision: 1,
    void: 0,
    currency: "",
    country: "",
    steps: [{ at: shown.at, items: [] }],
  };
}

function receiptOf({ recorded_at: recordedAt, change_id: id }: Reported): string {
  return `${recordedAt} ${id}`;
}
