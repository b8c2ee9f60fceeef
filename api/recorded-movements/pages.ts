/** Reads recorded MRR movements. */
import { fromClickhouseTime } from "../../clickhouse/rows.js";
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { RecordedMovementRow } from "../../schemas/movements.js";
import type { Page, PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import {
  type RecordedMovementPosition,
  type RecordedMovementsWanted,
  recordedMovementCountQuery,
  recordedMovementsQuery,
} from "./query.js";

export async function countRecordedMovements(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: RecordedMovementsWanted,
): Promise<number> {
  const query = recordedMovementCountQuery(asOf, wanted);
  const [row] = await rowsOf<{ readonly movements: string }>({ clickhouse }, query);
  return Number(row?.movements ?? 0);
}

export async function readRecordedMovements(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: RecordedMovementsWanted,
  after: RecordedMovementPosition | null,
  limit: number,
): Promise<Page<RecordedMovementRow, RecordedMovementPosition>> {
  const query = recordedMovementsQuery(asOf, wanted, after, limit + 1);
  const found = await rowsOf<RecordedMovementRow>({ clickhouse }, query);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  if (last === undefined) return { rows, last: null };
  const at = fromClickhouseTime(last.at);
  const together = rows.filter((row) => row.at === last.at).length;
  return { rows, last: { at, rows: together + (after?.at === at ? after.rows : 0) } };
}
