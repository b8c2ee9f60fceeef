/** Revenue by interval and group, and how many sales reported their tax and their fee. */
import type { CellGroup } from "../../schemas/http/series.js";
import type { Cell } from "../reading/metric-filters.js";
import { type Groups, groupParams, memberSql, placeSql } from "../reading/groups.js";
import { type Series, intervalSql, isOfMonths } from "../reading/series.js";
import { ledgerCondition, ledgerPartsSql } from "../reading/ledger.js";
import { namesOf } from "../reading/parts.js";
import {
  type Query,
  allOf,
  asOfParams,
  atSql,
  fromSql,
  knownAtSql,
  sumSettingsSql,
  tenantSql,
} from "../reading/query.js";

export interface RevenueCell {
  /** First day of the interval, `YYYY-MM-DD`. */
  readonly start: string;
  /** Its group; present only when the query asks for groups. */
  readonly place?: string;
}

/** Minor units of base currency, as text. */
export interface RevenueSumsRow extends RevenueCell {
  readonly gross: string;
  readonly refunds: string;
  readonly disputes: string;
  readonly tax: string;
  readonly fees: string;
  readonly sales: string;
}

export interface ReportedRow extends RevenueCell {
  readonly tax: string;
  readonly fee: string;
}

type Rows = Pick<Cell, "condition" | "partCondition" | "accounts" | "params" | "isOfSkus">;

/** @param rowsMax one more is read, to see whether there are more */
export function revenueQuery(
  series: Series,
  cell: Rows,
  groups: Groups | undefined,
  rowsMax: number,
): Query {
  const places = groups === undefined ? [] : [placeSql(groups)];
  const sums = revenueSql(series, cell, groups?.by, places);
  return {
    sql: `${sums} ORDER BY start LIMIT {rows_max:UInt32} ${sumSettingsSql}`,
    params: {
      ...paramsOf(series, cell),
      ...(groups === undefined ? {} : groupParams(groups)),
      rows_max: rowsMax + 1,
    },
  };
}

/** The size of each member of a group: its revenue over the whole time. */
export function revenueSizesQuery(series: Series, cell: Rows, by: CellGroup): Query {
  const sums = revenueSql(series, cell, by, [memberSql(by)]);
  return {
    sql: `SELECT member, sum(gross + refunds + disputes) AS size FROM (${sums})
GROUP BY member ORDER BY member ${sumSettingsSql}`,
    params: paramsOf(series, cell),
  };
}

function revenueSql(
  series: Series,
  cell: Rows,
  by: Groups["by"] | undefined,
  groups: readonly string[],
): string {
  const { interval, asOf } = series;
  const isOfSkus = cell.isOfSkus && by !== "currency" && by !== "country";
  const columnsOf = (day: string) => [`${intervalSql(interval, day)} AS start`, "kind", ...groups];
  const names = namesOf(["start", ...groups]);
  const parts = ledgerPartsSql(asOf, {
    columnsOf,
    measures: ["amount", "tax", "fee", "sales"],
    condition: ledgerCondition(cell, asOf),
    accounts: cell.accounts,
    since: isOfSkus && isOfMonths(series) ? "month" : "day",
  });
  return `SELECT ${names}, sumIf(amount, kind = 'sale') AS gross,
  sumIf(amount, kind = 'refund') AS refunds,
  sumIf(amount, kind IN ('dispute', 'dispute_won')) AS disputes,
  sum(tax) AS tax, sum(fee) AS fees, sum(sales) AS sales
FROM ${parts}
GROUP BY ${names}
-- What was moved away by differences leaves sums of nothing behind.
HAVING gross != 0 OR refunds != 0 OR disputes != 0 OR tax != 0 OR fees != 0 OR sales != 0`;
}

function paramsOf({ asOf, from }: Series, cell: Rows): Query["params"] {
  return { ...asOfParams(asOf), ...cell.params, from };
}

/**
 * A reported tax or fee is never withdrawn, so the newest version that has one is the newest of
 * all. Where no provider reports any, this reads two columns and finds nothing.
 */
export function reportedQuery(series: Series, cell: Rows, groups: Groups | undefined): Query {
  const { asOf, interval } = series;
  const places = groups === undefined ? [] : [placeSql(groups)];
  const account = cell.accounts === undefined ? [] : ["account"];
  const shown = [
    "provider",
    "external_id",
    "customer_country",
    "original_currency",
    "tax_amount IS NOT NULL",
    "fee_amount IS NOT NULL",
    ...account,
  ];
  const condition = allOf(
    tenantSql,
    `timestamp >= ${fromSql}`,
    `timestamp <= ${atSql}`,
    asOf.knownAt !== null && `recorded_at <= ${knownAtSql}`,
    "(tax_amount IS NOT NULL OR fee_amount IS NOT NULL)",
  );
  return {
    sql: `SELECT ${["start", ...places].join(", ")},
  countIf(has_tax) AS tax, countIf(has_fee) AS fee FROM (
  SELECT ${intervalSql(interval, "toDate(timestamp)")} AS start,
    newest.1 AS provider, newest.2 AS external_id, newest.3 AS country, newest.4 AS currency,
    newest.5 AS has_tax, newest.6 AS has_fee${account.map((name) => `, newest.7 AS ${name}`).join()}
  FROM (
    SELECT timestamp, argMax((${shown.join(", ")}), (recorded_at, fact_id, version)) AS newest
    FROM transactions
    WHERE ${condition}
    GROUP BY workspace, environment, timestamp, id
  )
) WHERE ${cell.condition}
GROUP BY ${namesOf(["start", ...places])} ${sumSettingsSql}, optimize_aggregation_in_order = 1`,
    params: { ...paramsOf(series, cell), ...(groups === undefined ? {} : groupParams(groups)) },
  };
}
