/** Movements by month and kind, and how many accounts churned in each month. */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import { seriesParams, seriesSql } from "../movement-series/query.js";
import type { Cell } from "../reading/metric-filters.js";
import { movementRows, movementTimeSql } from "../reading/movements.js";
import { type Query, fromSql, sumSettingsSql } from "../reading/query.js";
import type { Series } from "../reading/series.js";

/** Not a kind of movement: `accounts` is how many accounts churned, each once. */
export const churnedAccounts = "churned accounts";

/**
 * In one statement, for one state of the table: rows as those of `movementSeriesQuery`. An account
 * that churned twice in a month counts once, which no sum of movements shows.
 */
export function ratesQuery(months: Series, cell: Omit<Cell, "hasWholeAccounts">): Query {
  const { asOf } = months;
  const churned = `SELECT toStartOfMonth(at) AS start, account
FROM ${movementRows(asOf)} AND ${movementTimeSql} >= ${fromSql} AND kind = 'churn'
  AND ${cell.condition}
GROUP BY start, account HAVING sum(accounts) < 0`;
  return {
    sql: `SELECT start, kind, mrr, accounts FROM (
${seriesSql(asOf, months, cell, undefined, [])}
UNION ALL
SELECT start, '${churnedAccounts}' AS kind, 0 AS mrr, count() AS accounts
FROM ${eachShard(churned)} GROUP BY start
) ${sumSettingsSql}`,
    params: seriesParams(asOf, months, cell),
  };
}
