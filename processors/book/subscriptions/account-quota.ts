/**
 * How much one account may have, since its movements are worked out whole, in one statement. What
 * it has never becomes less, and the statement that inserts checks it: a change is refused only
 * where it can never be inserted later, and never after it was inserted before a crash.
 */
import { matching } from "../../../clickhouse/rows.js";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import type { Log } from "../../../log/log.js";
import type { Logger } from "../../../runtime/logger.js";
import { limits } from "../../../config.js";
import { type Change, inAccounts } from "./change.js";

/** An account that is full, or may be so after a batch. */
type Large = Pick<Change, "workspace" | "environment" | "account">;

/** What movements are worked out from: the items of all steps, or the end. */
const sizeSql = "sum(greatest(1, arraySum(items -> length(items), steps.items.item)))";

/**
 * In a process that is alone with its tables nearly every batch needs no look: what all accounts
 * that begin alike have at the most. What a repeat counts again only leads to a look too many.
 */
export class AccountSizes {
  readonly #sizes = new Map<string, number>();
  #isRead = false;

  /** Null where others write, too. Until it is read, in the background, it knows of no room. */
  static over({ clickhouse, log, logger }: Stores): AccountSizes | null {
    if (log.shared || clickhouse.isShared) return null;
    const sizes = new AccountSizes();
    sizes.read(clickhouse).catch((error: unknown) => {
      logger.warn({ err: error }, "the sizes of accounts could not be read");
    });
    return sizes;
  }

  async read(clickhouse: Pick<ClickHouse, "rows">): Promise<void> {
    const stored = await clickhouse.rows<{ group: string; size: string }>(
      `SELECT substring(account, 1, ${groupLength}) AS group, ${sizeSql} AS size
       FROM subscription_changes GROUP BY group`,
    );
    for (const { group, size } of stored) this.#add(group, Number(size));
    this.#isRead = true;
  }

  /** Call with every change before it is inserted. False: the accounts' sizes must be read. */
  haveRoomFor(changes: readonly Change[]): boolean {
    let most = 0;
    for (const { account, steps } of changes) {
      const items = steps.reduce((sum, step) => sum + step.items.length, 0);
      most = Math.max(most, this.#add(account.slice(0, groupLength), Math.max(1, items)));
    }
    return this.#isRead && most < limits.accountSizeMax / 2;
  }

  #add(group: string, size: number): number {
    const sum = (this.#sizes.get(group) ?? 0) + size;
    this.#sizes.set(group, sum);
    return sum;
  }
}

interface Stores {
  readonly clickhouse: Pick<ClickHouse, "rows" | "isShared">;
  readonly log: Pick<Log, "shared">;
  readonly logger: Pick<Logger, "warn">;
}

/** Hex digits. */
const groupLength = 4;

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

/**
 * SQL condition on a change of these accounts: it is nobody's whose account is full. What leaves
 * nothing that counts has room of its own: refused, its subscription would count for ever.
 */
export function hasRoomSql(large: readonly Large[]): string {
  const { accountSizeMax: most, accountEndsMax: ends } = limits;
  return `(${hasLessSql(large, most)}
    OR empty(steps[-1].items) AND subscription != '' AND ${hasLessSql(large, most + ends)})`;
}

function hasLessSql(large: readonly Large[], size: number): string {
  return `(workspace, environment, account) NOT IN (
    SELECT workspace, environment, account FROM subscription_changes
    WHERE ${inAccounts(large)} GROUP BY workspace, environment, account
    HAVING ${sizeSql} >= ${size})`;
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
  const stored = await clickhouse.rows<Revision>(
    `SELECT account, change_id, revision FROM subscription_changes
     WHERE ${inAccounts(large)} AND ${matching(doubtful, "change_id")}`,
  );
  const there = new Set(stored.map(nameOf));
  return doubtful.filter((change) => !there.has(nameOf(change)));
}

type Revision = Pick<Change, "account" | "change_id" | "revision">;

function nameOf({ account, change_id: id, revision }: Revision): string {
  return JSON.stringify([account, id, revision]);
}
