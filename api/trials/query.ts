/** What became of the free trials that began in each month, from the changes of subscriptions. */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import { type Query, atSql } from "../reading/query.js";
import {
  type StartedPart,
  type Started,
  changesSql,
  isInMonths,
  knownSql,
  startedParams,
} from "../started/query.js";

export interface TrialsRow {
  /** First day of the month, `YYYY-MM-DD`. */
  readonly start: string;
  readonly started: string;
  readonly converted: string;
  readonly lost: string;
}

/** After every possible change and step (`schemas/bounds.ts`). */
const never = "toDateTime64('2200-01-01', 3, 'UTC')";

/**
 * One row for each month in which any began. Changes are ordered by `timeOf`, and a step comes true
 * only before the next change (`stepsOf`).
 */
export function trialsQuery(started: Started, part: StartedPart): Query {
  const known = knownSql(started, part);
  const onTrial = `SELECT DISTINCT provider, subscription FROM subscription_changes
WHERE ${known} AND trial AND ${isInMonths("at")}`;
  const paid = `arrayMap(step -> step.1, arrayFilter(
    step -> step.1 <= ${atSql} AND arrayExists(item -> item.4 > 0, step.2), steps)) AS paid`;
  const inOrder = `SELECT provider, subscription, at, phase, trial, paid,
  leadInFrame(at, 1, ${never}) OVER (
    PARTITION BY provider, subscription ORDER BY at, phase, event_id, recorded_at, change_id
    ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_at
FROM (${changesSql(`trial, ${paid}`, known, eachShard(onTrial))})
WHERE void = 0 AND at <= ${atSql}`;
  const trials = `SELECT minOrNullIf(at, trial AND at < next_at) AS began,
  max(arrayMax(arrayFilter(time -> time < next_at, paid))) >= began AS is_paid,
  argMax(phase, next_at) IN ('expired', 'ended') AS is_over
FROM (${inOrder}) GROUP BY provider, subscription`;
  return {
    sql: `SELECT toStartOfMonth(began) AS start, count() AS started, countIf(is_paid) AS converted,
  countIf(is_over AND NOT is_paid) AS lost
FROM (${trials}) WHERE ${isInMonths("began")} GROUP BY start`,
    params: startedParams(started, part),
  };
}
