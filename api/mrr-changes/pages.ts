/** Reads one page of what changed between two readings. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { Page, PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { type MrrChangePosition, type MrrChangeRow, mrrChangesQuery } from "./query.js";

/** @param from ms since 1970: what was recorded later, up to `asOf.knownAt` */
export async function readMrrChanges(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  from: number,
  provider: readonly string[] | undefined,
  after: MrrChangePosition | null,
  limit: number,
): Promise<Page<MrrChangeRow, MrrChangePosition>> {
  const query = mrrChangesQuery(asOf, from, provider, after, limit + 1);
  const found = await rowsOf<MrrChangeRow>({ clickhouse }, query);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  if (last === undefined) return { rows, last: null };
  const { recorded_at_ms, event_id, account } = last;
  const isOfLast = (row: MrrChangePosition | MrrChangeRow): boolean =>
    row.recorded_at_ms === recorded_at_ms && row.event_id === event_id && row.account === account;
  const shown = rows.filter(isOfLast).length;
  const before = after !== null && isOfLast(after) ? after.rows : 0;
  return { rows, last: { recorded_at_ms, event_id, account, rows: shown + before } };
}
