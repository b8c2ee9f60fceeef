/** The JSON of one recorded MRR movement. */
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import { type RecordedMovementRow, recordedMovementId } from "../../schemas/movements.js";
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
  return {
    id: recordedMovementId(row),
    event_id: row.event_id,
    recorded_at: isoText(row.recorded_at),
    account: row.account,
    ...presentMovementPlace(row, catalogue),
    at: isoText(row.at),
    mrr: showMrr(mrrOf(row.mrr), currency),
    mrr_exact: exactMrr(mrrOf(row.mrr)),
    base_currency: currency,
    plan_interval: recordedMovement.shape.plan_interval.parse(row.plan_interval),
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

function isoText(time: string): string {
  return new Date(fromClickhouseTime(time)).toISOString();
}
