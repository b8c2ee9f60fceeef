import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { RecordedMovementRow } from "../../schemas/movements.js";
import { type KeyPosition, type Page, type PinnedAsOf, pageByKey } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import {
  type RecordedMovementTotals,
  type RecordedMovementsWanted,
  recordedMovementTotalsQuery,
  recordedMovementsQuery,
} from "./query.js";
import type { RecordedMovementSort } from "./schema.js";

export async function readRecordedTotals(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: RecordedMovementsWanted,
): Promise<RecordedMovementTotals> {
  const query = recordedMovementTotalsQuery(asOf, wanted);
  const [row] = await rowsOf<RecordedMovementTotals>({ clickhouse }, query);
  return row ?? { movements: "0", net: "0" };
}

export async function readRecordedMovements(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: RecordedMovementsWanted,
  sort: RecordedMovementSort,
  after: KeyPosition | null,
  limit: number,
): Promise<Page<RecordedMovementRow, KeyPosition>> {
  const query = recordedMovementsQuery(asOf, wanted, sort, after, limit + 1);
  const found = await rowsOf<RecordedMovementRow>({ clickhouse }, query);
  return pageByKey(found, limit, after, (row) => keyOf(row, sort));
}

function keyOf(row: RecordedMovementRow, sort: RecordedMovementSort): string {
  return sort.endsWith("at") ? String(fromClickhouseTime(row.at)) : row.mrr;
}
