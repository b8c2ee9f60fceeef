/**
 * Compares the recorded MRR movements with what should be recorded, by slices of accounts: each
 * account worked out anew by the function that booked it (`book/account/account-movements.ts`).
 */
import { limits } from "../../config.js";
import { fromClickhouseTime, clickhouseTime, matching } from "../../stores/clickhouse/rows.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { mrrOf, plainMrr } from "../../schemas/money/monthly.js";
import type { AuditExample } from "../../schemas/audit.js";
import { differenceOf, type RecordedRow } from "../book/account/recorded.js";
import { insertMovements, type MovementsView, viewOf } from "../book/subscriptions/movements.js";
import { type AccountSlice, inSlice } from "./account-slices.js";
import type { Tenant } from "../../schemas/records/records.js";

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
  const view = await viewOf(clickhouse, inside);
  let differences = differenceOf(view);
  if (differences.length > 0) {
    const settled = clickhouseTime(await settledTo());
    // Twice: an account that was booked between reading the two tables has a later change in the
    // second look, and is left out.
    for (let look = 0; look < 2 && differences.length > 0; look += 1) {
      differences = settledDifferences(await viewOf(clickhouse, inside), settled);
    }
  }
  const amount = differences.reduce((sum, { mrr }) => sum + mrrOf(mrr), 0n);
  return findingOf(view.recorded.length, plainMrr(amount), differences, (row) => ({
    subject: row.account,
    at: new Date(fromClickhouseTime(row.at)).toISOString(),
    what: row.kind,
    amount: row.mrr,
  }));
}

/** Of accounts without a change recorded later, as ClickHouse writes times. */
function settledDifferences(view: MovementsView, settledTo: string): RecordedRow[] {
  const unsettled = new Set(
    view.changes.flatMap(({ account, recorded_at: at }) => (at > settledTo ? [account] : [])),
  );
  return differenceOf(view).filter(({ account }) => !unsettled.has(account));
}

/**
 * @returns whether all that is recorded of these tenants is right; false, too, where something is
 *   being booked right now
 */
export async function areAllRight(
  clickhouse: Pick<ClickHouse, "rows">,
  tenants: readonly Tenant[],
): Promise<boolean> {
  const view = await viewOf(clickhouse, matching(tenants, "workspace", "environment"));
  return differenceOf(view).length === 0;
}

/**
 * Inserts *should be minus is* for the accounts of a slice, each row under the event it belongs to.
 * May be repeated. Nothing may be booking.
 */
export async function repairSlice(clickhouse: ClickHouse, slice: AccountSlice): Promise<void> {
  const view = await viewOf(clickhouse, inSlice(slice));
  await insertMovements(clickhouse, differenceOf(view), view, clickhouse.isShared);
}
