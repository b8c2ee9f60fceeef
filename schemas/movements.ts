/** MRR movements and what they are made from, as booking and the interface read them. */
import { movementId } from "./ids.js";
import type { MovementRecord } from "./records/records.js";

/**
 * How the id of a change ends that says only that the subscription is another account's from then
 * on: an end, whatever its phase, which gives it its place among changes of one moment.
 */
export const transferSuffix = ":transferred";

export const movementMeasures = ["mrr", "accounts", "subscriptions"] as const;

/** A recorded movement as the engine reports it, in texts: `SELECT ${recordedColumns}`. */
export interface RecordedMovementRow extends Omit<
  MovementRecord,
  "id" | "at" | "recorded_at" | "base_currency" | "plan_interval" | "backfill"
> {
  readonly plan_interval: string;
  readonly at: string;
  readonly recorded_at: string;
  /** How many rows its event had recorded of the same before: an earlier one came late. */
  readonly correction: number;
}

export const recordedColumns =
  "workspace, environment, provider, account, subscription, external_id, currency, country, " +
  "kind, at, mrr, formatDateTime(vintage, '%Y-%m') AS vintage, recorded_at, event_id, " +
  "plan_interval, correction";

/** The same on the public topic and in lists, so that readers of both count each movement once. */
export function recordedMovementId(row: RecordedMovementRow): string {
  return movementId(
    row.workspace,
    row.environment,
    row.account,
    row.subscription,
    row.external_id,
    row.currency,
    row.country,
    row.at,
    row.kind,
    row.vintage,
    row.mrr,
    row.event_id,
    // Another delivery of the event may cause the same again, after others took it back.
    row.recorded_at,
    ...(row.correction === 0 ? [] : [String(row.correction)]),
    // Rows of versions before keep their ids.
    ...(row.plan_interval === "unknown" ? [] : [row.plan_interval]),
  );
}
