/** MRR and active subscribers by provider. */
import { eachShard } from "../../backends/clickhouse-shards.js";
import type { AsOf } from "../as-of.js";
import { isLateInMonth, nextInterval, startOfMonth } from "../calendar.js";
import { sumMovementsSql } from "./movements.js";
import {
  type Query,
  asOfParams,
  projectionSettingSql,
  sumSettingsSql,
  tenantSql,
} from "./query.js";

export interface MrrRow {
  readonly provider: string;
  /** decimal text, base currency */
  readonly mrr: string;
  /** active accounts */
  readonly accounts: string;
}

/** As of two moments. */
export interface MrrPairRow extends MrrRow {
  /** decimal text, base currency, as of the earlier moment */
  readonly previous: string;
}

export function mrrQuery(asOf: AsOf): Query {
  const sums = sumMovementsSql(["provider"], "by_month_and_sku", asOf, {
    measures: ["mrr", "accounts"],
  });
  return { sql: `${sums} ORDER BY provider ${sumSettingsSql}`, params: asOfParams(asOf) };
}

/**
 * What is recorded as of `asOf.at`, and as of a moment before, in one statement: planning it is
 * most of what a figure costs, and the sums of months serve both.
 *
 * @param asOf `known_at` is not regarded
 */
export function mrrPairQuery(asOf: AsOf, previousAt: number): Query {
  const moments = [edgeOf("at", asOf.at), edgeOf("previous", previousAt)] as const;
  const [now, previous] = moments;
  const parts = [
    `SELECT provider, sum(mrr) AS value, sum(accounts) AS active, 1 AS counts,
       toStartOfMonth(at) <= ${previous.lastMonthSql} AS counted
     FROM mrr_movements
     WHERE ${tenantSql} AND identity(toStartOfMonth(at)) <= ${now.lastMonthSql}
     GROUP BY provider, counted ${projectionSettingSql("by_month_and_sku")}`,
    rowsSql(now, now.sign, 0),
    rowsSql(previous, 0, previous.sign),
  ];
  const sql = `
SELECT provider, sum(value * counts) AS mrr, sum(active * counts) AS accounts,
       sum(value * counted) AS previous
FROM ${eachShard(parts.join("\nUNION ALL\n"))}
GROUP BY provider ORDER BY provider
${sumSettingsSql}, optimize_move_to_prewhere = 0`;
  const { workspace, environment } = asOf;
  const params = Object.assign({ workspace, environment }, ...moments.map((each) => each.params));
  return { sql, params };
}

/**
 * A moment as whole months and the rows of the nearer part of its month: those from its beginning
 * are added, or those to its end taken off. The engine's dates begin with 1970, of which January
 * holds nothing (`limits.eventEarliest`): it stands for the month before it, too.
 */
function edgeOf(name: string, at: number) {
  const month = startOfMonth(at);
  const isLate = isLateInMonth(at);
  const time = (end: string) => `fromUnixTimestamp64Milli({${name}_${end}:Int64}, 'UTC')`;
  return {
    sign: isLate ? -1 : 1,
    lastMonthSql: `toDate(${time("month")})`,
    fromSql: time("from"),
    toSql: time("to"),
    params: {
      [`${name}_month`]: Math.max(0, isLate ? month : startOfMonth(month - 1)),
      [`${name}_from`]: isLate ? at + 1 : month,
      [`${name}_to`]: isLate ? nextInterval("month", month) : at + 1,
    },
  };
}

function rowsSql(
  { fromSql, toSql }: ReturnType<typeof edgeOf>,
  counts: number,
  counted: number,
): string {
  return (
    `SELECT provider, mrr AS value, accounts AS active, ${counts} AS counts, ` +
    `${counted} AS counted FROM mrr_movements ` +
    `WHERE ${tenantSql} AND identity(at) >= ${fromSql} AND identity(at) < ${toSql}`
  );
}
