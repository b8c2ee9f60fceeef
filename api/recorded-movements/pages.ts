/** Reads recorded MRR movements. */
import { fromClickhouseTime } from "../../clickhouse/rows.js";
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { RecordedMovementRow } from "../../schemas/movements.js";
import type { Page, PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import {
  type RecordedMovementPosition,
  type RecordedMovementTotals,
  type RecordedMovementsWanted,
  recordedMovementTotalsQuery,
  recordedMovementsQuery,
} from "./query.js";
import type { RecordedMovementSort } from "./schema.js";

/** Of all pages. */
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
  after: RecordedMovementPosition | null,
  limit: number,
): Promise<Page<RecordedMovementRow, RecordedMovementPosition>> {
  const query = recordedMovementsQuery(asOf, wanted, sort, after, limit + 1);
  const found = await rowsOf<RecordedMovementRow>({ clickhouse }, query);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  if (last === undefined) return { rows, last: null };
  const key = keyOf(last, sort);
  const together = rows.filter((row) => keyOf(row, sort) === key).length;
  return { rows, last: { key, rows: together + (after?.key === key ? after.rows : 0) } };
}

function keyOf(row: RecordedMovementRow, sort: RecordedMovementSort): string {
  return sort.endsWith("at") ? String(fromClickhouseTime(row.at)) : row.mrr;
}
