/**
 * What is recorded of an account, beside what should be. Each event's first rows are what it made
 * of the account when it was booked; later corrections stand beside them. Pure.
 */
import { plainMrr, mrrOf } from "../../../schemas/money/monthly.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { accountMovements, type MovementRow } from "./account-movements.js";

/** A row of `mrr_movements` as it is stored. */
export interface RecordedRow extends MovementRow {
  /** How many rows of the same dimensions its event had before. */
  readonly correction: number;
}

export const movementDimensions = [
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
  "plan_interval",
] as const;

/** *Should be recorded minus is recorded*, by all columns but the amounts. */
export function differenceOf({
  recorded,
  should,
}: {
  readonly recorded: readonly RecordedRow[];
  readonly should: readonly MovementRow[];
}): RecordedRow[] {
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

export interface KnownAccount {
  readonly changes: readonly Change[];
  readonly corrections: readonly RecordedRow[];
}

export function recordedRows({ changes, corrections }: KnownAccount): RecordedRow[] {
  const should = [...accountMovements(changes)].flat();
  const first = differenceOf({ recorded: corrections, should });
  return [...first.map((row) => ({ ...row, correction: 0 })), ...corrections];
}

/**
 * What is to be recorded when more changes are known.
 * @param after all changes, with those known before
 */
export function newRows(
  before: KnownAccount,
  after: readonly Change[],
): { readonly rows: readonly RecordedRow[]; readonly corrections: readonly RecordedRow[] } {
  const recorded = recordedRows(before);
  const rows = differenceOf({ recorded, should: [...accountMovements(after)].flat() });
  const events = new Set(before.changes.map(eventOf));
  return { rows, corrections: rows.filter((row) => events.has(eventOf(row))) };
}

function eventOf({ recorded_at, event_id }: Pick<Change, "recorded_at" | "event_id">): string {
  return `${recorded_at} ${event_id}`;
}

interface Sum {
  readonly row: MovementRow;
  mrr: bigint;
  accounts: number;
  subscriptions: number;
  correction: number;
}

function addTo(sums: Map<string, Sum>, row: MovementRow, sign: 1 | -1): void {
  const key = JSON.stringify(movementDimensions.map((name) => row[name]));
  const sum = sums.get(key) ?? { row, mrr: 0n, accounts: 0, subscriptions: 0, correction: 0 };
  sum.mrr += BigInt(sign) * mrrOf(row.mrr);
  sum.accounts += sign * row.accounts;
  sum.subscriptions += sign * row.subscriptions;
  if (sign < 0) sum.correction += 1;
  sums.set(key, sum);
}
