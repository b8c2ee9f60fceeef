/** Reads MRR as of a moment and as of a month before it. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { AsOf } from "../reading/as-of.js";
import { growthThen } from "../reading/calendar.js";
import { rowsOf } from "../reading/reading.js";
import { type MrrPairRow, type MrrPartRow, mrrPairQuery, mrrPairs } from "./query.js";

export async function readMrr(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: AsOf,
): Promise<MrrPairRow[]> {
  const previousAt = Math.max(0, growthThen(asOf.at));
  const rows = await rowsOf<MrrPartRow>({ clickhouse }, mrrPairQuery(asOf, previousAt));
  return mrrPairs(rows, asOf.at, previousAt);
}
