/** The JSON of one recorded MRR movement. */
import type { Catalogue } from "../../catalogue/view.js";
import { fromClickhouseTime } from "../../clickhouse/rows.js";
import { type RecordedMovement, recordedMovement } from "./schema.js";
import { type RecordedMovementRow, recordedMovementId } from "../../schemas/movements.js";
import { exactMrr, mrrOf, showMrr } from "../reading/amounts.js";

export function presentRecordedMovement(
  row: RecordedMovementRow,
  catalogue: Catalogue,
  currency: string,
): RecordedMovement {
  const product = catalogue.productOf({ provider: row.provider, externalId: row.external_id });
  const { shape } = recordedMovement;
  return {
    id: recordedMovementId(row),
    event_id: row.event_id,
    recorded_at: isoText(row.recorded_at),
    account: row.account,
    provider: shape.provider.parse(row.provider),
    subscription: row.subscription,
    product_id: product.id,
    product_name: product.name,
    external_id: row.external_id,
    currency: row.currency,
    country: row.country,
    kind: shape.kind.parse(row.kind),
    vintage: row.vintage,
    at: isoText(row.at),
    mrr: showMrr(mrrOf(row.mrr), currency),
    mrr_exact: exactMrr(mrrOf(row.mrr)),
    base_currency: currency,
  };
}

function isoText(time: string): string {
  return new Date(fromClickhouseTime(time)).toISOString();
}
