/** Movements by interval and kind, with the balance before the first interval. */
import type { MovementGroup } from "./schema.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { AsOf } from "../reading/as-of.js";
import type { Cell } from "../reading/metric-filters.js";
import {
  type Groups,
  type UnrankedGroups,
  groupParams,
  memberSql,
  placeSql,
} from "../reading/groups.js";
import { type Series, intervalSql, isOfMonths } from "../reading/series.js";
import { sumMovementSeriesSql, wholesOf } from "../reading/movements.js";
import { fromDaySql } from "../reading/parts.js";
import { type Query, asOfParams, sumSettingsSql } from "../reading/query.js";

export interface MovementSeriesRow {
  /** First day of the interval, `YYYY-MM-DD`; `beforeAll` for what happened before the series. */
  readonly start: string;
  readonly kind: string;
  /** Its group; present only when the query asks for groups. */
  readonly place?: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

/** No movement is as old (`limits.eventEarliest`). */
export const beforeAll = "1970-01-01";

type Rows = Omit<Cell, "hasWholeAccounts">;

/**
 * @param asOf of the series, or a reading of it
 * @param rowsMax one more is read, to see whether there are more
 */
export function movementSeriesQuery(
  asOf: AsOf,
  series: Series,
  cell: Rows,
  groups: Groups | UnrankedGroups | undefined,
  rowsMax: number,
): Query {
  const isRanked = groups !== undefined && "shown" in groups;
  const places =
    groups === undefined ? [] : [isRanked ? placeSql(groups) : memberSql(groups.by, "place")];
  const sums = seriesSql(asOf, series, cell, groups?.by, places);
  return {
    sql: `${sums} ORDER BY start, kind LIMIT {rows_max:UInt32} ${sumSettingsSql}`,
    params: {
      ...seriesParams(asOf, series, cell),
      ...(isRanked ? groupParams(groups) : {}),
      rows_max: rowsMax + 1,
    },
  };
}

/** The sizes of the members of groups: the sum of their balances at the end of each interval. */
export function movementSizesQuery(
  asOf: AsOf,
  series: Series,
  cell: Rows,
  by: MovementGroup,
): Query {
  const { interval, parts, to } = series;
  // A movement counts in the interval in which it happened, and in all after it.
  const endsAfter = `if(start = toDate(0), {intervals:UInt32},
  dateDiff('${interval}', start, toDate({last_start:String})) + 1)`;
  return {
    sql: `SELECT member, sum(mrr * ${endsAfter}) AS size
FROM (${seriesSql(asOf, series, cell, by, [memberSql(by)])})
WHERE mrr != 0 OR accounts != 0
GROUP BY member ORDER BY member ${sumSettingsSql}`,
    params: {
      ...seriesParams(asOf, series, cell),
      intervals: parts.length,
      last_start: utcDay(parts.at(-1)?.start ?? to),
    },
  };
}

/** Sums of movements for each interval, kind and group, and of all before the first interval. */
export function seriesSql(
  asOf: AsOf,
  series: Series,
  cell: Rows,
  by: MovementGroup | undefined,
  groups: readonly string[],
): string {
  const columnsOf = (day: string) => [
    `if(${day} < ${fromDaySql}, toDate(0), ${intervalSql(series.interval, day)}) AS start`,
    "kind",
    ...groups,
  ];
  const wholes = wholesOf(cell, by);
  return sumMovementSeriesSql(columnsOf, { wholes, isOfMonths: isOfMonths(series) }, asOf, {
    condition: cell.condition,
    measures: ["mrr", "accounts"],
  });
}

export function seriesParams(
  asOf: AsOf,
  { from }: Series,
  cell: Pick<Cell, "params">,
): Query["params"] {
  return { ...asOfParams(asOf), ...cell.params, from };
}
