/**
 * Brings the recorded MRR movements of accounts to what they should be
 * (`account/account-movements.ts`). What is missing is added under the event that caused it; where
 * an event comes late, what later ones recorded is corrected under them. May be repeated.
 */
import { fromClickhouseTime, textArray } from "../../../stores/clickhouse/rows.js";
import { partsOf, columnNames } from "../../../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../../../stores/clickhouse/clickhouse.js";
import { chunksBySize, compare, inTurns } from "../../../runtime/lists.js";
import { TryLater } from "../../../stores/store-away.js";
import { bookedNow } from "../../../schemas/booked-at.js";
import { mrrOf } from "../../../schemas/money/monthly.js";
import { recordedMovementId } from "../../../schemas/movements.js";
import type { Fact, MovementRecord } from "../../../schemas/records/records.js";
import { accountMovements, type MovementRow } from "../account/account-movements.js";
import { differenceOf, movementDimensions, type RecordedRow } from "../account/recorded.js";
import type { AccountName } from "./accounts.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { inAccounts, changesOf } from "./changes.js";

/** Of one statement; most have few changes. */
const accountsAtOnceMax = 500;
/**
 * Others may change the same accounts meanwhile; after this many looks the batch is handled again.
 */
const looksMax = 20;

/** @param shared others may change the same accounts meanwhile */
export async function recordMovements(
  clickhouse: ClickHouse,
  touched: readonly AccountName[],
  shared: boolean,
): Promise<void> {
  for (const some of chunksBySize(touched, accountsAtOnceMax, () => 1)) {
    await bringToShouldBe(clickhouse, inAccounts(some), shared);
  }
}

/** @param accountsFilter SQL condition that keeps whole accounts together */
async function bringToShouldBe(
  clickhouse: ClickHouse,
  accountsFilter: string,
  shared: boolean,
): Promise<void> {
  for (let look = 0; look < looksMax; look += 1) {
    const view = await viewOf(clickhouse, accountsFilter);
    const missing = differenceOf(view);
    if (missing.length === 0) return;
    await insertMovements(clickhouse, missing, view, shared);
    if (!shared) return;
  }
  throw new TryLater(`others changed the same accounts ${looksMax} times meanwhile`);
}

export interface MovementsView {
  readonly changes: readonly Change[];
  readonly recorded: readonly RecordedRow[];
  readonly should: readonly MovementRow[];
}

export async function viewOf(
  clickhouse: Pick<ClickHouse, "rows">,
  accountsFilter: string,
): Promise<MovementsView> {
  const [changes, recorded] = await Promise.all([
    changesOf(clickhouse, accountsFilter),
    clickhouse.rows<RecordedRow>(
      `SELECT ${[...movementDimensions, ...measures].join(", ")} FROM mrr_movements
       WHERE ${accountsFilter}`,
    ),
  ]);
  const should: MovementRow[] = [];
  await inTurns(shouldBe(changes), (rows) => should.push(...rows));
  return { changes: changes.flat(), recorded, should };
}

function* shouldBe(accounts: readonly (readonly Change[])[]): Generator<readonly MovementRow[]> {
  for (const changes of accounts) yield* accountMovements(changes);
}

/**
 * @param view what the rows were worked out from
 * @param shared others write, too: an account with more rows than were seen is left out, because
 *   whoever stored them brings it to what it should be
 */
export async function insertMovements(
  clickhouse: ClickHouse,
  rows: readonly RecordedRow[],
  view: MovementsView,
  shared: boolean,
): Promise<void> {
  for (const part of partsOf(movementColumns, rows)) {
    const isCurrent = shared ? `WHERE ${isCurrentSql(part.rows, view)}` : "";
    await clickhouse.write(
      `INSERT INTO mrr_movements (${columnNames(movementColumns).join(", ")}, booked_at)
       SELECT *, ${bookedNow} FROM ${part.table} ${isCurrent}`,
      {},
      "subscriptions",
    );
  }
}

/** Both tables have as many rows of the account as were seen; none is ever removed. */
function isCurrentSql(rows: readonly RecordedRow[], { changes, recorded }: MovementsView): string {
  const accounts = [...new Map(rows.map((row) => [row.account, row])).values()];
  const names = accounts.map(({ account }) => account);
  const isOther = (table: string, seen: readonly { readonly account: string }[]): string => {
    const counts = new Map(names.map((name) => [name, 0]));
    for (const { account } of seen) {
      const count = counts.get(account);
      if (count !== undefined) counts.set(account, count + 1);
    }
    const expected = `transform(account, ${textArray(names)}, [${[...counts.values()].join()}], 0)`;
    return `account NOT IN (
      SELECT account FROM ${table} WHERE ${inAccounts(accounts)}
      GROUP BY account HAVING count() != ${expected})`;
  };
  return `${isOther("subscription_changes", changes)} AND ${isOther("mrr_movements", recorded)}`;
}

const measures = ["mrr", "accounts", "subscriptions", "correction"] as const;

export const movementColumns =
  "workspace String, environment String, account String, provider String, subscription String, " +
  "external_id String, currency String, country String, at DateTime64(3, 'UTC'), kind String, " +
  "vintage Date, recorded_at DateTime64(3, 'UTC'), event_id String, mrr Decimal(38, 6), " +
  "accounts Int32, subscriptions Int32, correction UInt32, plan_interval String";

function receiptOf({ recorded_at: recordedAt, event_id: event }: RecordedRow): string {
  return `${recordedAt} ${event}`;
}

/** As the public topic has them: each account's in order of receipt. */
export function movementRecords(
  rows: readonly RecordedRow[],
  batch: readonly Fact[],
): MovementRecord[] {
  const baseCurrency = new Map(batch.map((fact) => [fact.workspace, fact.base_currency]));
  const backfilled = new Map(batch.map((fact) => [fact.event_id, fact.backfill]));
  return rows
    .filter(({ mrr }) => mrrOf(mrr) !== 0n)
    .toSorted((one, other) => compare(placeOf(one), placeOf(other)))
    .map((row) => ({ ...row, vintage: row.vintage.slice(0, "YYYY-MM".length) }))
    .map((row) => ({
      id: recordedMovementId(row),
      base_currency: baseCurrency.get(row.workspace) ?? "",
      ...row,
      at: fromClickhouseTime(row.at),
      recorded_at: fromClickhouseTime(row.recorded_at),
      backfill: backfilled.get(row.event_id) ?? false,
    }));
}

function placeOf(row: RecordedRow): string {
  const { workspace, environment, account, at, subscription, external_id: sku } = row;
  return [workspace, environment, account, receiptOf(row), at, subscription, sku].join(" ");
}
