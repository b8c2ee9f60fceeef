/**
 * How much one account may have: its movements are worked out whole, in one statement, and one that
 * the engine has no memory for would be tried again for ever, while everybody's MRR stands still.
 *
 * What an account has never becomes less, and is looked at by the statement that inserts, of which
 * there is one at a time. So a change is refused only where it can never be inserted later, and one
 * that was inserted before a crash is not refused when its batch comes again.
 */
import { rowsIn } from "../backends/clickhouse-rows.js";
import type { ClickHouse } from "../backends/clickhouse.js";
import { limits } from "../config.js";
import type { Change } from "./changes.js";

/** An account that is full, or may be so after a batch. */
type Large = Pick<Change, "workspace" | "environment" | "account">;

/** What movements are worked out from: the items of all steps, or the end. */
const sizeSql = "sum(greatest(1, arraySum(items -> length(items), steps.items.item)))";

/** None for nearly every batch: an account has a few changes a year. */
export async function largeAccounts(
  clickhouse: Pick<ClickHouse, "rows">,
  changes: readonly Change[],
): Promise<Large[]> {
  if (changes.length === 0) return [];
  return clickhouse.rows<Large>(
    `SELECT workspace, environment, account FROM subscription_changes
     WHERE ${inAccounts(changes)} GROUP BY workspace, environment, account
     HAVING ${sizeSql} >= ${limits.accountSizeMax / 2}`,
  );
}

/** SQL condition on a change of these accounts: it is nobody's whose account is full. */
export function hasRoomSql(large: readonly Large[]): string {
  return `(workspace, environment, account) NOT IN (
    SELECT workspace, environment, account FROM subscription_changes
    WHERE ${inAccounts(large)} GROUP BY workspace, environment, account
    HAVING ${sizeSql} >= ${limits.accountSizeMax})`;
}

/** Of what was to be inserted, the changes for which there was no room. */
export async function refusedFor(
  clickhouse: Pick<ClickHouse, "rows">,
  large: readonly Large[],
  changes: readonly Change[],
): Promise<Change[]> {
  const names = new Set(large.map(({ account }) => account));
  const doubtful = changes.filter(({ account }) => names.has(account));
  if (doubtful.length === 0) return [];
  const stored = await clickhouse.rows<Pick<Change, "account" | "change_id" | "revision">>(
    `SELECT account, change_id, revision FROM subscription_changes
     WHERE ${inAccounts(large)} AND ${rowsIn(
       "(change_id)",
       doubtful.map(({ change_id: id }) => [id]),
     )}`,
  );
  const there = new Set(stored.map(nameOf));
  return doubtful.filter((change) => !there.has(nameOf(change)));
}

function nameOf({
  account,
  change_id: id,
  revision,
}: Pick<Change, "account" | "change_id" | "revision">) {
  return JSON.stringify([account, id, revision]);
}

function inAccounts(rows: readonly Large[]): string {
  return rowsIn(
    "(workspace, environment, account)",
    rows.map((row) => [row.workspace, row.environment, row.account]),
  );
}
