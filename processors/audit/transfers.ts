/** Whether every subscription that went to another account was ended under the one before. */
import { findingOf, type SliceFinding } from "./movements.js";
import { type Tenant, tenantSql } from "./account-slices.js";
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import { chunksBySize } from "../../runtime/chunk.js";
import { limits } from "../../config.js";
import { endsOf, partsOfShared, type Shared, sharedSql } from "../book/subscriptions/transfers.js";
import { isoTime } from "./money.js";
import type { Change } from "../book/subscriptions/change.js";

/** Changes of which an audit holds two hashes of each subscription: 40 bytes. */
const auditHashedRows = 10_000_000;

/**
 * Subscriptions of a tenant that have several accounts, in lists to be audited one by one. They are
 * found by hashes: to group all subscriptions by name would hold all of their names, and a stretch
 * of them at a time is a look at all for each.
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
      // Two names may have one hash; only those with several accounts come.
      yield* partsOfShared(await clickhouse.rows<Shared>(named));
    }
  }
}

const hashSql = "sipHash64(provider, subscription)";

/**
 * @param settledTo asked only when an end is missing; ms since 1970 up to which everything is
 *   booked. What was reported later is being booked right now.
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
