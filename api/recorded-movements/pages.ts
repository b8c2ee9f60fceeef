/** Reads recorded MRR movements, a page or all. */
import { fromClickhouseTime } from "../../clickhouse/rows.js";
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import type { RecordedMovementRow } from "../../schemas/movements.js";
import type { PinnedAsOf } from "../reading/pages.js";
import {
  type RecordedMovementCountRow,
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
  const { sql, params } = recordedMovementCountQuery(asOf, wanted);
  const [row] = await clickhouse.rows<RecordedMovementCountRow>(sql, params);
  return Number(row?.movements ?? 0);
}

/** All of them, page by page. */
export async function* readAllRecordedMovements(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: RecordedMovementsWanted,
): AsyncGenerator<RecordedMovementRow[]> {
  let after: RecordedMovementPosition | null = null;
  do {
    const page = await readRecordedMovements(
      clickhouse,
      asOf,
      wanted,
      after,
      limits.exportPageRows,
    );
    yield page.rows;
    after = page.last;
  } while (after !== null);
}

interface RecordedMovementPage {
  readonly rows: RecordedMovementRow[];
  /** Where the next one begins; null at the end. */
  readonly last: RecordedMovementPosition | null;
}

export async function readRecordedMovements(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: RecordedMovementsWanted,
  after: RecordedMovementPosition | null,
  limit: number,
): Promise<RecordedMovementPage> {
  const { sql, params } = recordedMovementsQuery(asOf, wanted, after, limit + 1);
  const found = await clickhouse.rows<RecordedMovementRow>(sql, params);
  const rows = found.slice(0, limit);
  return { rows, last: found.length > limit ? positionAfter(rows, after) : null };
}

function positionAfter(
  rows: readonly RecordedMovementRow[],
  before: RecordedMovementPosition | null,
): RecordedMovementPosition | null {
  const last = rows.at(-1);
  if (last === undefined) return null;
  const at = fromClickhouseTime(last.at);
  const together = rows.filter((row) => row.at === last.at).length;
  return { at, rows: together + (before?.at === at ? before.rows : 0) };
}
