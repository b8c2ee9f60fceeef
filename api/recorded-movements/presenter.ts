/** The JSON of one recorded MRR movement. */
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import { type RecordedMovementRow, recordedMovementId } from "../../schemas/movements.js";
import type { MovementRecord } from "../../schemas/records/records.js";
import { presentMovementPlace } from "../mrr-changes/presenter.js";
import { showMrr } from "../reading/amounts.js";
import { exactMrr, mrrOf } from "../../schemas/money/monthly.js";
import type { RecordedMovementTotals } from "./query.js";
import { type RecordedMovement, type RecordedMovementsAnswer, recordedMovement } from "./schema.js";

export function presentRecordedMovement(
  row: RecordedMovementRow,
  catalogue: Catalogue,
  currency: string,
): RecordedMovement {
  const at = fromClickhouseTime(row.at);
  const recordedAt = fromClickhouseTime(row.recorded_at);
  return present({ ...row, id: recordedMovementId(row), at, recordedAt }, catalogue, currency);
}

export function presentMovementRecord(record: MovementRecord, catalogue: Catalogue) {
  const { recorded_at: recordedAt, base_currency: currency } = record;
  const { plan_interval = "unknown" } = record;
  return present({ ...record, plan_interval, recordedAt }, catalogue, currency);
}

/** Times in ms since 1970. */
type Movement = Parameters<typeof presentMovementPlace>[0] &
  Pick<RecordedMovementRow, "account" | "event_id" | "mrr" | "plan_interval"> & {
    readonly id: string;
    readonly at: number;
    readonly recordedAt: number;
  };

function present(movement: Movement, catalogue: Catalogue, currency: string): RecordedMovement {
  const mrr = mrrOf(movement.mrr);
  return {
    id: movement.id,
    event_id: movement.event_id,
    recorded_at: isoText(movement.recordedAt),
    account: movement.account,
    ...presentMovementPlace(movement, catalogue),
    at: isoText(movement.at),
    mrr: showMrr(mrr, currency),
    mrr_exact: exactMrr(mrr),
    base_currency: currency,
    plan_interval: recordedMovement.shape.plan_interval.parse(movement.plan_interval),
  };
}

export function presentRecordedTotals(
  { movements, net }: RecordedMovementTotals,
  currency: string,
): RecordedMovementsAnswer["totals"] {
  return {
    movements: Number(movements),
    mrr: showMrr(mrrOf(net), currency),
    mrr_exact: exactMrr(mrrOf(net)),
  };
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}
