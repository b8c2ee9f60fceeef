/**
 * Ends of subscriptions that moved to another account (`transfer-rules.ts`). Two processors may
 * book the two accounts at the same time, so each writes its changes before it reads: the one that
 * reads last sees both.
 */
import { clickhouseTime, matching } from "../../../clickhouse/rows.js";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import { chunksBySize } from "../../../runtime/chunk.js";
import { grouped } from "../../../runtime/grouped.js";
import { limits } from "../../../config.js";
import type { AccountSizes } from "./account-quota.js";
import { insertChanges } from "./changes.js";
import { transferEnds, isReportedSql, type Reported } from "./transfer-rules.js";
import { type Change, inAccounts } from "./change.js";

export type Subscription = Pick<Change, "workspace" | "environment" | "provider" | "subscription">;

/** A subscription and some of the accounts it was reported under. */
export interface Shared extends Subscription {
  readonly accounts: readonly string[];
}

export interface TransfersBooked {
  /** Ends that are new, or that changes of this batch led to before a crash. */
  readonly ended: readonly Change[];
  /** Changes of the batch whose subscriptions have ends that their accounts had no room for. */
  readonly refused: readonly Change[];
}

/** @param reported the changes of a batch, which are there */
export async function bookTransfers(
  clickhouse: ClickHouse,
  reported: readonly Change[],
  sizes: AccountSizes | null = null,
): Promise<TransfersBooked> {
  const shared = await sharedAmong(clickhouse, reported);
  if (shared.length === 0) return { ended: [], refused: [] };
  const here = new Set(reported.map(deliveryOf));
  const ended: Change[] = [];
  const refused: Change[] = [];
  for (const some of partsOfShared(shared)) {
    const { ends, missing } = await endsOf(clickhouse, some);
    const beyond = new Set(await insertChanges(clickhouse, missing, sizes));
    const isNew = new Set(missing.filter((end) => !beyond.has(end)));
    ended.push(...ends.filter((end) => isNew.has(end) || here.has(deliveryOf(end))));
    const full = new Set([...beyond].map(nameOf));
    refused.push(...reported.filter((change) => full.has(nameOf(change))));
  }
  return { ended, refused };
}

/** In lists of so many accounts that their changes are read in one statement. */
export function partsOfShared(shared: readonly Shared[]): Iterable<Shared[]> {
  return chunksBySize(shared, limits.accountsOfSubscriptionMax, ({ accounts }) => accounts.length);
}

/**
 * The ends there should be of these subscriptions, and those of them that are not there.
 * @param knownTo ms since 1970; null: of all changes
 */
export async function endsOf(
  clickhouse: Pick<ClickHouse, "rows">,
  shared: readonly Shared[],
  knownTo: number | null = null,
): Promise<{ readonly ends: readonly Change[]; readonly missing: readonly Change[] }> {
  const inShared = `${inAccounts(accountsOf(shared))} AND ${matching(shared, "subscription")}`;
  const isKnown = knownTo === null ? "" : `AND recorded_at <= '${clickhouseTime(knownTo)}'`;
  const reported = await clickhouse.rows<Reported>(
    `SELECT workspace, environment, provider, subscription, account, change_id, at, phase,
            event_id, recorded_at
     FROM subscription_changes WHERE ${inShared} AND ${isReportedSql} ${isKnown}
     ORDER BY workspace, environment, provider, subscription, at DESC
     LIMIT ${limits.changesOfSharedMax} BY workspace, environment, provider, subscription`,
  );
  const ends = [...grouped(reported, nameOf).values()].flatMap(transferEnds);
  if (ends.length === 0) return { ends, missing: [] };
  const stored = await clickhouse.rows<Pick<Change, "account" | "change_id">>(
    `SELECT account, change_id FROM subscription_changes
     WHERE ${inShared} AND NOT (${isReportedSql})`,
  );
  const there = new Set(stored.map(endOf));
  return { ends, missing: ends.filter((end) => !there.has(endOf(end))) };
}

/** Those of the subscriptions that were reported under more than one account. */
export async function sharedAmong(
  clickhouse: Pick<ClickHouse, "rows">,
  subscriptions: readonly Subscription[],
): Promise<Shared[]> {
  if (subscriptions.length === 0) return [];
  return clickhouse.rows<Shared>(
    sharedSql(matching(subscriptions, "workspace", "environment", "provider", "subscription")),
  );
}

/** @param condition on workspace, environment, provider and subscription: a projection has these */
export function sharedSql(condition: string): string {
  const name = "workspace, environment, provider, subscription";
  return `
SELECT ${name}, groupArray(${limits.accountsOfSubscriptionMax})(account) AS accounts
FROM (
  SELECT ${name}, account FROM subscription_changes WHERE ${condition} GROUP BY ${name}, account
)
GROUP BY ${name} HAVING count() > 1`;
}

export function accountsOf(shared: readonly Shared[]) {
  return shared.flatMap(({ workspace, environment, accounts }) =>
    accounts.map((account) => ({ workspace, environment, account })),
  );
}

/** A subscription as one text. */
export function nameOf(of: Subscription): string {
  return JSON.stringify([of.workspace, of.environment, of.provider, of.subscription]);
}

function endOf({ account, change_id: id }: Pick<Change, "account" | "change_id">): string {
  return JSON.stringify([account, id]);
}

/** Of a change and of the ends it led to. Another delivery of its event led to none. */
function deliveryOf({ event_id: event, recorded_at: recordedAt, ...of }: Change): string {
  return JSON.stringify([event, recordedAt, of.provider, of.subscription]);
}
