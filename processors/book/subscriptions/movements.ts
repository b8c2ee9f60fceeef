/**
 * Brings the recorded MRR movements of accounts to what they should be: what each event makes of
 * an account, in order of receipt (`account/account-movements.ts`). What is missing is added under
 * the event that caused it; where an event comes late, what later ones recorded is corrected under
 * them. Repeated, it inserts nothing.
 */
import { fromClickhouseTime, textArray } from "../../../clickhouse/rows.js";
import { partsOf } from "../../../clickhouse/sql-text.js";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import { chunksBySize } from "../../../runtime/chunk.js";
import { compare } from "../../../runtime/order.js";
import { TryLater } from "../../../runtime/store-away.js";
import { bookedNow } from "../../../schemas/booked-at.js";
import { plainMrr, mrrOf } from "../../../schemas/money/monthly.js";
import { recordedMovementId } from "../../../schemas/movements.js";
import type { Fact, MovementRecord } from "../../../schemas/records/records.js";
import { inTurns } from "../../yield-to-event-loop.js";
import { accountMovements, type MovementRow } from "../account/account-movements.js";
import { type Change, inAccounts } from "./change.js";
import { changesOf } from "./changes.js";

/** An account and a raw event that touched it. */
export type TouchedAccount = Pick<
  Change,
  "workspace" | "environment" | "account" | "recorded_at" | "event_id"
>;

/** A row of `mrr_movements` as it is stored. */
export interface RecordedRow extends MovementRow {
  /** How many rows its event had recorded of the same before. */
  readonly correction: number;
}

/** Of one statement; most have a few changes. */
const accountsAtOnceMax = 500;
/** Beside others who change the same accounts; then the batch is handled again. */
const looksMax = 20;

/**
 * @param touched accounts with the first event of the batch that touched each
 * @param shared others may change the same accounts meanwhile
 * @returns what is recorded of them under those events and all received later: all that the batch
 *   can have added, also when it comes again after a crash
 */
export async function recordMovements(
  clickhouse: ClickHouse,
  touched: readonly TouchedAccount[],
  shared: boolean,
): Promise<RecordedRow[]> {
  const found: RecordedRow[][] = [];
  for (const some of chunksBySize(touched, accountsAtOnceMax, () => 1)) {
    const first = new Map(some.map((each) => [each.account, receiptOf(each)]));
    const recorded = await bringToShouldBe(clickhouse, inAccounts(some), shared);
    found.push(recorded.filter((row) => receiptOf(row) >= (first.get(row.account) ?? "")));
  }
  return found.flat();
}

/** @param accountsFilter SQL condition that keeps whole accounts together @returns all recorded */
async function bringToShouldBe(
  clickhouse: ClickHouse,
  accountsFilter: string,
  shared: boolean,
): Promise<RecordedRow[]> {
  for (let look = 0; look < looksMax; look += 1) {
    const view = await viewOf(clickhouse, accountsFilter);
    const missing = differenceOf(view);
    if (missing.length === 0) return [...view.recorded];
    await insertMovements(clickhouse, missing, view, shared);
    if (!shared) return [...view.recorded, ...missing];
  }
  throw new TryLater(`others changed the same accounts ${looksMax} times meanwhile`);
}

/** What is stored of some accounts, and what their changes say should be. */
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
      `SELECT ${[...dimensions, ...measures].join(", ")} FROM mrr_movements
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

/** *Should be recorded minus is recorded*, by all that a row says but its amounts. */
export function differenceOf({
  recorded,
  should,
}: Pick<MovementsView, "recorded" | "should">): RecordedRow[] {
  const sums = new Map<string, Sum>();
  for (const row of recorded) addTo(sums, row, -1);
  for (const row of should) addTo(sums, row, 1);
  return [...sums.values()]
    .filter(
      ({ mrr, accounts, subscriptions }) => mrr !== 0n || accounts !== 0 || subscriptions !== 0,
    )
    .map(({ row, mrr, accounts, subscriptions, correction }) => {
      return { ...row, mrr: plainMrr(mrr), accounts, subscriptions, correction };
    });
}

interface Sum {
  readonly row: MovementRow;
  mrr: bigint;
  accounts: number;
  subscriptions: number;
  correction: number;
}

function addTo(sums: Map<string, Sum>, row: MovementRow, sign: 1 | -1): void {
  const key = JSON.stringify(dimensions.map((name) => row[name]));
  const sum = sums.get(key) ?? { row, mrr: 0n, accounts: 0, subscriptions: 0, correction: 0 };
  sum.mrr += BigInt(sign) * mrrOf(row.mrr);
  sum.accounts += sign * row.accounts;
  sum.subscriptions += sign * row.subscriptions;
  if (sign < 0) sum.correction += 1;
  sums.set(key, sum);
}

/**
 * @param view what the rows were worked out from
 * @param shared others write, too: an account of which more is stored by now is left out, since
 *   whoever stored it brings the account to what it should be
 */
export async function insertMovements(
  clickhouse: ClickHouse,
  rows: readonly RecordedRow[],
  view: MovementsView,
  shared: boolean,
): Promise<void> {
  for (const part of partsOf(columns, rows)) {
    const isCurrent = shared ? `WHERE ${isCurrentSql(part.rows, view)}` : "";
    await clickhouse.write(
      `INSERT INTO mrr_movements (${[...dimensions, ...measures].join(", ")}, booked_at)
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

/** What rows are compared by. */
const dimensions = [
  "workspace",
  "environment",
  "account",
  "provider",
  "subscription",
  "external_id",
  "currency",
  "country",
  "at",
  "kind",
  "vintage",
  "recorded_at",
  "event_id",
] as const;
const measures = ["mrr", "accounts", "subscriptions", "correction"] as const;

const columns =
  "workspace String, environment String, account String, provider String, subscription String, " +
  "external_id String, currency String, country String, at DateTime64(3, 'UTC'), kind String, " +
  "vintage Date, recorded_at DateTime64(3, 'UTC'), event_id String, mrr Decimal(38, 6), " +
  "accounts Int32, subscriptions Int32, correction UInt32";

function receiptOf({ recorded_at: recordedAt, event_id: event }: TouchedAccount): string {
  return `${recordedAt} ${event}`;
}

/** As the public topic carries them: each account's in order of receipt. */
export function movementRecords(
  rows: readonly RecordedRow[],
  batch: readonly Fact[],
): MovementRecord[] {
  const baseCurrency = new Map(batch.map((fact) => [fact.workspace, fact.base_currency]));
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
    }));
}

function placeOf(row: RecordedRow): string {
  const { workspace, environment, account, at, subscription, external_id: sku } = row;
  return [workspace, environment, account, receiptOf(row), at, subscription, sku].join(" ");
}
