/**
 * What became of the payments that began to fail in each month, and how much MRR churned in it and
 * why: from what providers said of payments (`standing`), the changes of those subscriptions, and
 * the movements of MRR.
 */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import { accountsSql } from "../reading/accounts.js";
import { movementRows } from "../reading/movements.js";
import { type Query, allOf, atSql } from "../reading/query.js";
import {
  type StartedPart,
  type Started,
  changesSql,
  isInMonths,
  knownSql,
  startedParams,
} from "../started/query.js";

export interface FailedPaymentsRow {
  /** First day of the month, `YYYY-MM-DD`. */
  readonly start: string;
  /** `churned` is all that churned, for whatever reason. */
  readonly what: "recovered" | "lost" | "open" | "churned" | "involuntary" | "voluntary";
  readonly count: string;
  /** Decimal text of base currency, up to six places. */
  readonly mrr: string;
}

/** Rows of each month. */
export function failedPaymentsQuery(started: Started, part: StartedPart): Query {
  const moved = allOf(
    movementRows(started.asOf),
    part.provider !== undefined && "provider IN {provider:Array(String)}",
    part.accounts !== undefined && accountsSql(part.accounts),
  );
  const churned = `SELECT toStartOfMonth(at) AS start, 'churned' AS what,
  toInt64(-sum(accounts)) AS count, toDecimal128(-sum(mrr), 6) AS mrr
FROM ${moved} AND kind = 'churn' AND ${isInMonths("at")} GROUP BY start`;
  // Rows are left out inside the list and added up once: for each condition and each grouping over
  // them the engine compares all that is below, which took it a third of the statement's time.
  const each = `arrayFilter(one -> one.2 != 'unknown' AND ${isInMonths("one.1")},
  arrayConcat(failures, churns))`;
  const reasons = `SELECT toStartOfMonth(found.1) AS start, found.2 AS what,
  found.3 AS count, toDecimal128(found.4, 6) AS mrr
FROM (SELECT ${each} AS each FROM (${reasonsSql(started, part, moved)}))
ARRAY JOIN each AS found`;
  return {
    sql: `SELECT start, what, sum(count) AS count, sum(mrr) AS mrr FROM (
SELECT * FROM ${eachShard(churned)}
UNION ALL
${reasons}
) GROUP BY start, what`,
    params: startedParams(started, part),
  };
}

/**
 * Of each subscription that anything was said of: its failures, each with the time it began, what
 * became of it, 1 and its MRR, and its churns, each with its time, its reason, accounts and MRR.
 *
 * What is said again before the payment is made belongs to the same failure, whatever order it came
 * in: those are told apart by the change that settles them, the first one after the period that was
 * paid last which is not of an event that says it still fails. Of several changes of one moment the
 * last counts.
 */
function reasonsSql(started: Started, part: StartedPart, moved: string): string {
  const settled = `SELECT *,
  arrayMap(one -> arrayFirst(change -> change.1 > one.3, changes), failing) AS settled_by
FROM (${bySubscription(started, part, moved)})`;
  const together = `SELECT *, arrayDistinct(settled_by) AS settlings,
  arrayMap(settling -> arrayFilter((one, by) -> by = settling, failing, settled_by), settlings)
    AS those
FROM (${settled})`;
  // When it began, what became of it, its MRR, and when it was lost.
  const fates = `SELECT *, arrayMap((some, settling, unpaid) -> (
    some[1].1,
    multiIf(unpaid > ${never}, 'lost', settling.1 = ${never}, 'open',
      settling.2, 'recovered', 'lost'),
    arraySum(moved -> moved.2, arrayFilter(
      moved -> if(some[1].2 = 'unpaid', moved.1 < some[1].1, moved.1 <= some[1].3), movements)),
    multiIf(unpaid > ${never}, unpaid, settling.2, ${never}, settling.1)),
  those, settlings, arrayMap(some -> arrayFirst(one -> one.2 = 'unpaid', some).1, those)) AS fates
FROM (${together})`;
  return `SELECT arrayMap(fate -> (fate.1, fate.2, toInt64(1), fate.3),
    arrayFilter(fate -> fate.3 > 0, fates)) AS failures,
  arrayMap(fate -> fate.4, fates) AS lost_at,
  arrayMap(churn -> (churn.1, multiIf(
      has(lost_at, churn.1) OR has(ended, (churn.1, 'ended_unpaid')), 'involuntary',
      has(ended, (churn.1, 'ended_otherwise')), 'voluntary', 'unknown'),
    toInt64(-churn.3), -churn.2), churned) AS churns
FROM (${fates})`;
}

const never = "toDateTime64(0, 3, 'UTC')";

/** What is known of each subscription that anything was said of, in lists. */
function bySubscription(started: Started, part: StartedPart, moved: string): string {
  const known = knownSql(started, part);
  // As `processors/book/subscriptions/changes.ts` writes it.
  const said = eachShard(`SELECT provider, steps[1].2[1].1 AS subscription, at,
  toString(standing) AS standing, steps[1].1 AS paid_from, event_id
FROM subscription_changes WHERE ${known} AND standing != '' AND at <= ${atSql}`);
  const sayings = `SELECT provider, subscription,
  arraySort(groupArrayIf((at, standing, paid_from, event_id), standing IN ('failing', 'unpaid')))
    AS failing,
  groupArrayIf((at, standing), standing NOT IN ('failing', 'unpaid')) AS ended
FROM ${said} GROUP BY provider, subscription`;
  const counts = "arrayExists(step -> arrayExists(item -> item.4 > 0, step.2), steps) AS counts";
  const inOrder = `SELECT provider, subscription,
  arraySort(groupArray((at, phase, event_id, recorded_at, change_id, counts))) AS in_order
FROM (${changesSql(counts, known, said)})
WHERE void = 0 AND at <= ${atSql} GROUP BY provider, subscription`;
  const moves = `SELECT provider, subscription, groupArray((at, mrr)) AS movements,
  groupArrayIf((at, mrr, accounts), kind = 'churn') AS churned
FROM ${moved} AND (provider, subscription) GLOBAL IN (SELECT provider, subscription FROM ${said})
GROUP BY provider, subscription`;
  return `SELECT failing, ended, movements, churned,
  arrayFilter(change -> NOT has(failing.4, change.3), in_order) AS others,
  arrayMap(change -> (change.1, change.6), arrayFilter(
    (change, number) -> number = length(others) OR others[number + 1].1 > change.1,
    others, arrayEnumerate(others))) AS changes
FROM (${sayings}) AS sayings
GLOBAL LEFT JOIN (${inOrder}) AS orders USING (provider, subscription)
GLOBAL LEFT JOIN (${moves}) AS moves USING (provider, subscription)`;
}
