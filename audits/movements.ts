/**
 * Compares the recorded MRR movements with what should be recorded (`schemas/movements.ts`), by
 * slices of accounts: first by sums over the rows (`fingerprintSql`), which is half the work, and
 * row by row only where those differ.
 */
import { limits } from "../config.js";
import type { AuditExample } from "../schemas/audit.js";
import { bookedNow } from "../schemas/booked-at.js";
import {
  differenceSql,
  firstMovementsSql,
  movementColumns,
  movementDimensions,
  movementRowColumns,
  shouldBeSql,
} from "../schemas/movements.js";
import {
  type AccountSlice,
  accountSlices,
  eachOf,
  inSlice,
  movementTables,
  type Tenant,
  tenantsOf,
} from "./account-slices.js";
import { clickhouseTime, fromClickhouseTime, matching } from "../clickhouse/rows.js";
import { eachShard } from "../clickhouse/cluster/shard-statements.js";
import type { ClickHouse, WriteLane } from "../clickhouse/clickhouse.js";

export interface SliceFinding {
  readonly rows: number;
  readonly differences: number;
  /** Decimal text of base currency, should be minus is. */
  readonly amount: string;
  readonly examples: readonly AuditExample[];
}

export function findingOf<Difference>(
  rows: number,
  amount: string,
  differences: readonly Difference[],
  exampleOf: (difference: Difference) => AuditExample,
): SliceFinding {
  const examples = differences.slice(0, limits.auditExamplesMax).map(exampleOf);
  return { rows, differences: differences.length, amount, examples };
}

/**
 * @param settledTo asked only when something differs; ms since 1970 up to which everything is
 *   booked. Accounts with changes recorded later are being booked right now and are left out.
 */
export async function auditSlice(
  clickhouse: Pick<ClickHouse, "rows">,
  slice: AccountSlice,
  settledTo: () => Promise<number>,
): Promise<SliceFinding> {
  const inside = inSlice(slice);
  const { rows, isSame } = await compare(clickhouse, inside);
  const none = { rows, differences: 0, amount: "0", examples: [] };
  if (isSame) return none;
  const settled = settledSql(inside, await settledTo());
  // Twice: an account whose booking fell between the two tables' reading in the first look has a
  // change recorded later in the second.
  const differs = (await clickhouse.rows(differencesSql(settled, 1))).length > 0;
  if (!differs) return none;
  const found = await clickhouse.rows<DifferenceRow>(
    differencesSql(settled, limits.auditExamplesMax),
  );
  const [first] = found;
  if (first === undefined) return none;
  return {
    rows,
    differences: Number(first.differences),
    amount: first.amount,
    examples: found.map((row) => ({
      subject: row.account,
      at: new Date(fromClickhouseTime(row.at)).toISOString(),
      what: row.kind,
      amount: row.mrr,
    })),
  };
}

/**
 * @returns whether all that is recorded of these tenants is what should be; false, too, where
 *   something is being booked right now. An account is of one tenant: its name is a hash of it.
 */
export async function areAllRight(
  clickhouse: Pick<ClickHouse, "rows">,
  tenants: readonly Tenant[],
): Promise<boolean> {
  const inside = matching(tenants, "workspace", "environment");
  return (await compare(clickhouse, inside, movementDimensions)).isSame;
}

/**
 * Inserts *should be minus is* for the accounts of a slice: one statement, which finds nothing to
 * do when repeated. As in booking, a difference is recorded as of the newest event that touched
 * the account; where there is none, of what is recorded of it.
 */
export function repairSlice(clickhouse: ClickHouse, slice: AccountSlice): Promise<void> {
  return repairAccounts(clickhouse, inSlice(slice), "subscriptions");
}

async function repairAccounts(
  clickhouse: ClickHouse,
  inside: string,
  lane: WriteLane,
): Promise<void> {
  const touches = movementTables
    .map(
      (table) =>
        `SELECT account, max((recorded_at, event_id)) AS newest FROM ${table}
         WHERE ${inside} GROUP BY account`,
    )
    .join(" UNION ALL ");
  await clickhouse.write(
    `INSERT INTO mrr_movements (${movementRowColumns})
     SELECT ${movementColumns}, cause.1, cause.2, booked_at
     FROM (${differenceSql(inside, noCause, "many")}) AS difference
     INNER JOIN (
       SELECT account, max(newest) AS cause FROM (${touches}) GROUP BY account
     ) AS touched USING (account)
     ${inOrderOfAccounts}`,
    {},
    lane,
  );
}

/**
 * Every movement as the changes say, slice by slice: what is missing is added, what is wrong is
 * taken back by a difference. Interrupted, it is simply run again. Nothing may be booking.
 *
 * @param workspace null: all. @returns how many slices there were
 */
export async function rebuildMovements(
  clickhouse: ClickHouse,
  workspace: string | null,
): Promise<number> {
  let slices = 0;
  for (const tenant of await tenantsOf(clickhouse, movementTables, workspace)) {
    const all = accountSlices(clickhouse, tenant);
    await eachOf(all, rebuildLanes, async (slice, lane) => {
      slices += 1;
      await rebuildSlice(clickhouse, inSlice(slice), lane);
    });
  }
  return slices;
}

/** Two statements at once: one takes a core. */
const rebuildLanes = ["subscriptions", "bookkeeping"] as const;

async function rebuildSlice(clickhouse: ClickHouse, inside: string, lane: WriteLane) {
  const recorded = await clickhouse.rows(`SELECT 1 FROM mrr_movements WHERE ${inside} LIMIT 1`);
  if (recorded.length > 0) {
    if (!(await compare(clickhouse, inside)).isSame) await repairAccounts(clickhouse, inside, lane);
    return;
  }
  // With nothing there to be compared with, and rows in the table's order, it takes half as long.
  await clickhouse.write(
    `INSERT INTO mrr_movements (${movementRowColumns})
     SELECT ${movementColumns}, recorded_at, event_id, ${bookedNow}
     FROM (${firstMovementsSql(inside)})
     ${inOrderOfAccounts}`,
    {},
    lane,
  );
  const rest = `${inside} AND account NOT IN (SELECT account FROM mrr_movements WHERE ${inside})`;
  const left = await clickhouse.rows(
    `SELECT 1 FROM ${eachShard(`SELECT account FROM subscription_changes WHERE ${rest} LIMIT 1`)}`,
  );
  if (left.length > 0) await repairAccounts(clickhouse, rest, lane);
}

async function compare(
  clickhouse: Pick<ClickHouse, "rows">,
  accountsFilter: string,
  dimensions: readonly string[] = dimensionsOfSlice,
): Promise<{ readonly rows: number; readonly isSame: boolean }> {
  const sql = fingerprintSql(accountsFilter, dimensions);
  const [compared] = await clickhouse.rows<{ rows: string; same: number }>(sql);
  return { rows: Number(compared?.rows ?? 0), isSame: compared?.same === 1 };
}

/** Looked at for its rows alone, a difference needs no cause. */
const noCause = { recordedAt: "toDateTime64(0, 3, 'UTC')", eventId: "''" };

interface DifferenceRow {
  readonly account: string;
  readonly at: string;
  readonly kind: string;
  readonly mrr: string;
  readonly differences: string;
  readonly amount: string;
}

function differencesSql(accountsFilter: string, rowsMax: number): string {
  return `
SELECT account, at, kind, mrr, count() OVER () AS differences, sum(mrr) OVER () AS amount
FROM ${eachShard(differenceSql(accountsFilter, noCause, "many"))}
ORDER BY account, at, kind LIMIT ${rowsMax}
${inOrderOfAccounts}`;
}

/**
 * Each row's dimensions hashed and multiplied by its measures, summed modulo 2^128: rows that
 * cancel within one set of dimensions cancel here too, and what is left over of others is zero
 * only by an accident that no table will live to see.
 */
function fingerprintSql(accountsFilter: string, dimensions: readonly string[]): string {
  const sums = (source: string, sign: "" | "-", recorded: 0 | 1) => `
  SELECT count() * ${recorded} AS rows, ${sign}sum(toInt128(h) * toInt128(mrr * 1000000)) AS m,
         ${sign}sum(toInt128(intHash64(h)) * accounts) AS a,
         ${sign}sum(toInt128(intHash64(h + 1)) * subscriptions) AS s
  FROM (
    SELECT cityHash64(${dimensions.join(", ")}) AS h, mrr, accounts, subscriptions FROM ${source}
  )`;
  // Not a join: below one the engine would not work in the order of accounts.
  const compared = `
  SELECT sum(rows) AS rows, sum(m) = 0 AND sum(a) = 0 AND sum(s) = 0 AS same
  FROM (
    ${sums(`(${shouldBeSql(accountsFilter)})`, "", 0)}
    UNION ALL
    ${sums(`mrr_movements WHERE ${accountsFilter}`, "-", 1)}
  )`;
  return `SELECT toString(sum(rows)) AS rows, min(same) AS same FROM ${eachShard(compared)}
${inOrderOfAccounts}`;
}

/** Each account is worked out as it is read, instead of all in one block no cache holds. */
const inOrderOfAccounts =
  "SETTINGS optimize_aggregation_in_order = 1, aggregation_in_order_max_block_bytes = 1000000";

const sameInSlice: ReadonlySet<string> = new Set(["workspace", "environment"]);
const dimensionsOfSlice = movementDimensions.filter((name) => !sameInSlice.has(name));

function settledSql(accountsFilter: string, settledTo: number): string {
  return `${accountsFilter} AND account NOT IN (
    SELECT account FROM subscription_changes
    WHERE ${accountsFilter} AND recorded_at > '${clickhouseTime(settledTo)}'
  )`;
}
