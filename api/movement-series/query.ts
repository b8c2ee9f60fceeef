/** Movements by interval and kind, with the balance before the first interval. */
import type { MovementGroup } from "./schema.js";
import type { AsOf } from "../reading/as-of.js";
import type { Cell } from "../reading/metric-filters.js";
import { type GroupRow, groupColumns } from "../reading/groups.js";
import { type Series, intervalSql, isOfMonths } from "../reading/series.js";
import { sumMovementSeriesSql } from "../reading/movements.js";
import { fromDaySql } from "../reading/parts.js";
import { type Query, asOfParams, sumSettingsSql } from "../reading/query.js";

export interface MovementSeriesRow extends GroupRow {
  /** First day of the interval, `YYYY-MM-DD`; `beforeAll` for what happened before the series. */
  readonly start: string;
  readonly kind: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

/** No movement is as old (`limits.eventEarliest`). */
export const beforeAll = "1970-01-01";

/**
 * @param asOf of the series, or a reading of it
 * @param rowsMax one more is read, to say that there are more
 */
export function movementSeriesQuery(
  asOf: AsOf,
  series: Series,
  cell: Pick<Cell, "condition" | "params" | "isOfSkus">,
  group: MovementGroup | undefined,
  rowsMax: number,
): Query {
  const { interval, from } = series;
  // A kind stands in every row.
  const groups = group === undefined || group === "kind" ? [] : groupColumns[group];
  const columnsOf = (day: string) => [
    `if(${day} < ${fromDaySql}, toDate(0), ${intervalSql(interval, day)}) AS start`,
    "kind",
    ...groups,
  ];
  const isOfSkus = cell.isOfSkus && group !== "currency" && group !== "country";
  const sums = sumMovementSeriesSql(
    columnsOf,
    { months: isOfSkus ? "by_month_and_sku" : "by_month", isOfMonths: isOfMonths(series) },
    asOf,
    { condition: cell.condition, measures: ["mrr", "accounts"] },
  );
  return {
    sql: `${sums} ORDER BY start, kind LIMIT {rows_max:UInt32} ${sumSettingsSql}`,
    params: { ...asOfParams(asOf), ...cell.params, from, rows_max: rowsMax + 1 },
  };
}
