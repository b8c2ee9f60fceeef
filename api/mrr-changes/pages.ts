/** Reads one page of what changed between two readings, and how many changes there are. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { Page, PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import {
  type MrrChangePosition,
  type MrrChangeRow,
  type MrrChangesWanted,
  changeKey,
  mrrChangesCountQuery,
  mrrChangesQuery,
} from "./query.js";
import type { MrrChangeSort } from "./schema.js";

/** On all pages. */
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
  after: MrrChangePosition | null,
  limit: number,
): Promise<Page<MrrChangeRow, MrrChangePosition>> {
  const query = mrrChangesQuery(asOf, wanted, sort, after, limit + 1);
  const found = await rowsOf<MrrChangeRow>({ clickhouse }, query);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  if (last === undefined) return { rows, last: null };
  const key = changeKey(last, sort);
  const together = rows.filter((row) => changeKey(row, sort) === key).length;
  return { rows, last: { key, rows: together + (after?.key === key ? after.rows : 0) } };
}
