/** Reads one page of what changed between two readings, and how many changes there are. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { type KeyPosition, type Page, type PinnedAsOf, pageByKey } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import {
  type MrrChangeRow,
  type MrrChangesWanted,
  changeKey,
  mrrChangesCountQuery,
  mrrChangesQuery,
} from "./query.js";
import type { MrrChangeSort } from "./schema.js";

export async function countMrrChanges(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: MrrChangesWanted,
): Promise<number> {
  const query = mrrChangesCountQuery(asOf, wanted);
  const [row] = await rowsOf<{ readonly changes: string }>({ clickhouse }, query);
  return Number(row?.changes ?? 0);
}

export async function readMrrChanges(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: MrrChangesWanted,
  sort: MrrChangeSort,
  after: KeyPosition | null,
  limit: number,
): Promise<Page<MrrChangeRow, KeyPosition>> {
  const query = mrrChangesQuery(asOf, wanted, sort, after, limit + 1);
  const found = await rowsOf<MrrChangeRow>({ clickhouse }, query);
  return pageByKey(found, limit, after, (row) => changeKey(row, sort));
}
