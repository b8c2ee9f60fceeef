/** Revenue by interval and group, and how many sales told their fee. */
import type { RevenueGroup } from "../../schemas/http-revenue.js";
import type { AsOf } from "../as-of.js";
import type { Series } from "../series.js";
import { fromSql, intervalSql } from "./intervals.js";
import { sumLedgerSinceSql } from "./ledger.js";
import { type Query, asOfParams, atSql, knownAtSql, sumSettingsSql, tenantSql } from "./query.js";

/** What tells the cells of a series apart; a group's own columns only where it is asked for. */
interface RevenueCell {
  /** First day of the interval, `YYYY-MM-DD`. */
  readonly start: string;
  readonly provider?: string;
  readonly external_id?: string;
  readonly country?: string;
  readonly currency?: string;
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

export interface FeesToldRow extends RevenueCell {
  readonly told: string;
}

/** A product is grouped by its SKUs, which people may regroup. */
const groupColumns: Readonly<Record<RevenueGroup, readonly string[]>> = {
  provider: ["provider"],
  product: ["provider", "external_id"],
  country: ["country"],
  currency: ["currency"],
};

/** @param rowsMax one more is read, to tell that there are more */
export function revenueQuery(
  series: Series,
  group: RevenueGroup | undefined,
  rowsMax: number,
): Query {
  const groups = group === undefined ? [] : groupColumns[group];
  const names = ["start", ...groups].join(", ");
  const start = `${intervalSql(series.interval, "toDate(happened_at)")} AS start`;
  return {
    sql: `SELECT ${names}, sumIf(amount, kind = 'sale') AS gross,
  sumIf(amount, kind = 'refund') AS refunds,
  sumIf(amount, kind IN ('dispute', 'dispute_won')) AS disputes,
  sum(tax) AS tax, sum(fee) AS fees, sum(sales) AS sales
FROM (
${sumLedgerSinceSql([start, "kind", ...groups], ["amount", "tax", "fee", "sales"], series.asOf)}
) AS sums GROUP BY ${names}
-- What was moved away by differences leaves sums of nothing behind.
HAVING gross != 0 OR refunds != 0 OR disputes != 0 OR tax != 0 OR fees != 0 OR sales != 0
ORDER BY ${names} LIMIT {rows_max:UInt32} ${sumSettingsSql}`,
    params: { ...asOfParams(series.asOf), from: series.from, rows_max: rowsMax + 1 },
  };
}

/**
 * A fee once told is never unsaid, so the newest version that has one is the newest of all. Where
 * no provider tells fees, this reads one column and finds nothing.
 */
export function feesToldQuery(series: Series, group: RevenueGroup | undefined): Query {
  const groups = group === undefined ? [] : groupColumns[group];
  const names = ["start", ...groups].join(", ");
  const cell = [`${intervalSql(series.interval, "toDate(timestamp)")} AS start`]
    .concat(groups.map((column) => `newest.${versionColumns.indexOf(column) + 1} AS ${column}`))
    .join(", ");
  return {
    sql: `SELECT ${cell}, count() AS told FROM (
  SELECT timestamp, argMax((${versionValues}), (recorded_at, fact_id, version)) AS newest
  FROM transactions
  WHERE ${conditionSql(series.asOf)} AND fee_amount IS NOT NULL
  GROUP BY workspace, environment, timestamp, id
) GROUP BY ${names} ${sumSettingsSql}, optimize_aggregation_in_order = 1`,
    params: { ...asOfParams(series.asOf), from: series.from },
  };
}

const versionColumns: readonly string[] = ["provider", "external_id", "country", "currency"];
const versionValues = "provider, external_id, customer_country, original_currency";

function conditionSql(asOf: AsOf): string {
  const known = asOf.knownAt === null ? "" : ` AND recorded_at <= ${knownAtSql}`;
  return `${tenantSql} AND timestamp >= ${fromSql} AND timestamp <= ${atSql}${known}`;
}
