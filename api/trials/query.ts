/** What became of the free trials that began in each month, from the changes of subscriptions. */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import { transferSuffix } from "../../schemas/movements.js";
import type { AsOf } from "../reading/as-of.js";
import {
  type Query,
  allOf,
  asOfParams,
  atSql,
  fromSql,
  given,
  knownAtSql,
  momentSql,
  tenantSql,
} from "../reading/query.js";
import type { Series } from "../reading/series.js";

/** Trials that began in these months, with what became of them up to `asOf.at`. */
export interface Started {
  readonly months: Series;
  /** Not before the end of the months. */
  readonly asOf: AsOf;
}

export interface TrialsRow {
  /** First day of the month, `YYYY-MM-DD`. */
  readonly start: string;
  readonly started: string;
  readonly converted: string;
  readonly lost: string;
}

/** After every possible change and step (`schemas/fact-bounds.ts`). */
const never = "toDateTime64('2200-01-01', 3, 'UTC')";

/**
 * One row for each month in which any began. Changes are ordered by `timeOf`, and a step comes true
 * only before the next change (`stepsOf`). A subscription is one under whatever accounts, so ends
 * of transfers are left out.
 */
export function trialsQuery(
  { months, asOf }: Started,
  provider: readonly string[] | undefined,
): Query {
  const known = allOf(
    tenantSql,
    asOf.knownAt !== null && `recorded_at <= ${knownAtSql}`,
    provider !== undefined && "provider IN {provider:Array(String)}",
  );
  const isInMonths = (at: string) => `${at} >= ${fromSql} AND ${at} <= ${momentSql("until")}`;
  const onTrial = `SELECT DISTINCT provider, subscription FROM subscription_changes
WHERE ${known} AND trial AND ${isInMonths("at")}`;
  const changes = `SELECT provider, subscription, change_id, at, phase, event_id, recorded_at, void,
  trial,
  arrayMap(step -> step.1, arrayFilter(
    step -> step.1 <= ${atSql} AND arrayExists(item -> item.4 > 0, step.2), steps)) AS paid
FROM subscription_changes
WHERE ${known} AND NOT endsWith(change_id, '${transferSuffix}')
  AND (provider, subscription) GLOBAL IN (SELECT * FROM ${eachShard(onTrial)})
ORDER BY revision DESC LIMIT 1 BY provider, subscription, account, change_id`;
  const inOrder = `SELECT provider, subscription, at, phase, trial, paid,
  leadInFrame(at, 1, ${never}) OVER (
    PARTITION BY provider, subscription ORDER BY at, phase, event_id, recorded_at, change_id
    ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_at
FROM (${changes}) WHERE void = 0 AND at <= ${atSql}`;
  const trials = `SELECT minOrNullIf(at, trial AND at < next_at) AS began,
  max(arrayMax(arrayFilter(time -> time < next_at, paid))) >= began AS is_paid,
  argMax(phase, next_at) IN ('expired', 'ended') AS is_over
FROM (${inOrder}) GROUP BY provider, subscription`;
  return {
    sql: `SELECT toStartOfMonth(began) AS start, count() AS started, countIf(is_paid) AS converted,
  countIf(is_over AND NOT is_paid) AS lost
FROM (${trials}) WHERE ${isInMonths("began")} GROUP BY start`,
    params: given({
      ...asOfParams(asOf),
      from: months.from,
      until: months.asOf.at,
      provider,
    }),
  };
}
