/** Checks that every subscription that went to another account was ended under the one before. */
import { findingOf, type SliceFinding } from "./movements.js";
import { tenantSql } from "./account-slices.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { chunksBySize, grouped } from "../../runtime/lists.js";
import { limits } from "../../config.js";
import { clickhouseTime, matching } from "../../stores/clickhouse/rows.js";
import {
  isReportedSql,
  nameOfSubscription,
  type Reported,
  type Subscription,
  transferEnds,
} from "../book/subscriptions/transfer-rules.js";
import { isoTime } from "./money.js";
import type { Change } from "../../schemas/subscriptions/change.js";
import { inAccounts } from "../book/subscriptions/changes.js";
import type { Tenant } from "../../schemas/records/records.js";

/** An audit holds two hashes of each subscription: 40 bytes. */
const auditHashedRows = 10_000_000;

/**
 * Subscriptions of a tenant that have several accounts, in lists. They are found by hashes, because
 * grouping all subscriptions by name would hold all of their names.
 */
export async function* sharedSlices(
  clickhouse: Pick<ClickHouse, "rows">,
  tenant: Tenant,
): AsyncGenerator<Shared[]> {
  const changes = `subscription_changes WHERE ${tenantSql(tenant)} AND subscription != ''`;
  const [table] = await clickhouse.rows<{ rows: string }>(`SELECT count() AS rows FROM ${changes}`);
  const slices = Math.ceil(Number(table?.rows ?? 0) / auditHashedRows);
  for (let slice = 0; slice < slices; slice += 1) {
    const found = await clickhouse.rows<{ hash: string }>(
      `SELECT ${hashSql} AS hash FROM ${changes} AND hash % ${slices} = ${slice}
       GROUP BY hash HAVING min(sipHash64(account)) != max(sipHash64(account))`,
    );
    for (const some of chunksBySize(found, limits.auditSliceRows, () => 1)) {
      const hashes = some.map(({ hash }) => hash).join(", ");
      const named = sharedSql(`${tenantSql(tenant)} AND ${hashSql} IN (${hashes})`);
      // Two names may share a hash; only those with several accounts remain.
      yield* partsOfShared(await clickhouse.rows<Shared>(named));
    }
  }
}

const hashSql = "sipHash64(provider, subscription)";

/**
 * @param settledTo asked only when an end is missing; ms since 1970 up to which everything is
 *   booked. What was reported later is left out.
 */
export async function missingEnds(
  clickhouse: Pick<ClickHouse, "rows">,
  shared: readonly Shared[],
  settledTo: () => Promise<number>,
): Promise<{ readonly rows: number; readonly missing: readonly Change[] }> {
  const { ends, missing } = await endsOf(clickhouse, shared);
  if (missing.length === 0) return { rows: ends.length, missing };
  const settled = await settledTo();
  const again = await endsOf(clickhouse, shared, settled);
  return { rows: again.ends.length, missing: again.missing };
}

export function endsFinding({
  rows,
  missing,
}: Awaited<ReturnType<typeof missingEnds>>): SliceFinding {
  const what = "end of a subscription that is another account's";
  return findingOf(rows, "0", missing, ({ account, at }) => {
    return { subject: account, at: isoTime(at), what, amount: null };
  });
}

/** A subscription and some of the accounts it was reported under. */
interface Shared extends Subscription {
  readonly accounts: readonly string[];
}

/** In lists of so many accounts that their changes are read in one statement. */
function partsOfShared(shared: readonly Shared[]): Iterable<Shared[]> {
  return chunksBySize(shared, limits.accountsOfSubscriptionMax, ({ accounts }) => accounts.length);
}

/**
 * The ends that these subscriptions should have, and those that are missing.
 * @param knownTo ms since 1970; null: of all changes
 */
async function endsOf(
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
  const ends = [...grouped(reported, nameOfSubscription).values()].flatMap(transferEnds);
  if (ends.length === 0) return { ends, missing: [] };
  const stored = await clickhouse.rows<Pick<Change, "account" | "change_id">>(
    `SELECT account, change_id FROM subscription_changes
     WHERE ${inShared} AND NOT (${isReportedSql})`,
  );
  const there = new Set(stored.map(endOf));
  return { ends, missing: ends.filter((end) => !there.has(endOf(end))) };
}

/** @param condition on workspace, environment, provider and subscription: a projection has these */
function sharedSql(condition: string): string {
  const name = "workspace, environment, provider, subscription";
  return `
SELECT ${name}, groupArray(${limits.accountsOfSubscriptionMax})(account) AS accounts
FROM (
  SELECT ${name}, account FROM subscription_changes WHERE ${condition} GROUP BY ${name}, account
)
GROUP BY ${name} HAVING count() > 1`;
}

function accountsOf(shared: readonly Shared[]) {
  return shared.flatMap(({ workspace, environment, accounts }) =>
    accounts.map((account) => ({ workspace, environment, account })),
  );
}

function endOf({ account, change_id: id }: Pick<Change, "account" | "change_id">): string {
  return JSON.stringify([account, id]);
}
