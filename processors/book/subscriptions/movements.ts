/** Brings the recorded MRR movements of accounts to what they should be. */
import { fromClickhouseTime, matching, textArray } from "../../../clickhouse/rows.js";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import {
  type Cause,
  type RecordedMovementRow,
  differenceSql,
  movementRowColumns,
  recordedColumns,
  recordedMovementId,
} from "../../../schemas/movements.js";
import type { Fact, MovementRecord } from "../../../schemas/records/records.js";
import { type Change, inAccounts } from "./change.js";

/** An account and the newest raw event that touched it. */
export type TouchedAccount = Pick<
  Change,
  "workspace" | "environment" | "account" | "recorded_at" | "event_id"
>;

/** One statement: *should be recorded minus is recorded*. Repeated, it inserts nothing. */
export async function insertDifferences(
  clickhouse: ClickHouse,
  touched: readonly TouchedAccount[],
): Promise<void> {
  await clickhouse.write(
    `INSERT INTO mrr_movements (${movementRowColumns})
     ${differenceSql(inAccounts(touched), causeOf(touched))}`,
    {},
    "subscriptions",
  );
}

/**
 * Looked up in constant arrays: a join would make the engine work out its side first. An account is
 * a keyed hash over its workspace, environment and provider too: enough alone.
 */
function causeOf(touched: readonly TouchedAccount[]): Cause {
  const accounts = textArray(touched.map((row) => row.account));
  const of = (values: readonly string[]): string =>
    `transform(account, ${accounts}, ${textArray(values)}, '')`;
  return {
    recordedAt: `toDateTime64(${of(touched.map((row) => row.recorded_at))}, 3, 'UTC')`,
    eventId: of(touched.map((row) => row.event_id)),
  };
}

/**
 * The movements recorded under the events of the batch, as the public topic carries them.
 *
 * @param changes of the batch, all of them: when a batch comes again after a crash it may be
 *   longer, and what an earlier event of an account caused is recorded under that event
 */
export async function recordedMovements(
  clickhouse: ClickHouse,
  changes: readonly TouchedAccount[],
  batch: readonly Fact[],
): Promise<MovementRecord[]> {
  const rows = await clickhouse.rows<RecordedMovementRow>(
    `SELECT ${recordedColumns}
     FROM mrr_movements
     WHERE ${inAccounts(changes)} AND ${matching(changes, "event_id", "recorded_at")} AND mrr != 0
     ORDER BY workspace, environment, account, at, subscription, external_id`,
  );
  const baseCurrency = new Map(batch.map((fact) => [fact.workspace, fact.base_currency]));
  return rows.map((row) => ({
    id: recordedMovementId(row),
    base_currency: baseCurrency.get(row.workspace) ?? "",
    ...row,
    at: fromClickhouseTime(row.at),
    recorded_at: fromClickhouseTime(row.recorded_at),
  }));
}
