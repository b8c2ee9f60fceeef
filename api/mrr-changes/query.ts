/**
 * What single events changed of the MRR as of a moment. An account's movements are a function of
 * its changes (`schemas/movements.ts`), so what an event changed is that function of the changes up
 * to the event minus that of the changes before it; the order is that of receipt. Over all events
 * between two readings this adds up to their difference, even for events booked together.
 */
import {
  movementDimensions,
  movementMeasures,
  plannedOnce,
  shouldBeSql,
} from "../../schemas/movements.js";
import type { PinnedAsOf } from "../reading/pages.js";
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

/** An event and one account it changed something of. */
export interface CauseRow {
  /** ms since 1970, as text */
  readonly recorded_at_ms: string;
  readonly event_id: string;
  readonly account: string;
}

/**
 * The events recorded after `from` and up to `knownAt`, newest first, that may have changed what
 * happened up to `at`: a revision may take back or move what did, and a country moves all of it.
 *
 * @param from ms since 1970
 * @param until begins with this one; null: with the newest
 */
export function causesQuery(
  asOf: PinnedAsOf,
  from: number,
  provider: string | undefined,
  until: CauseRow | null,
  rowsMax: number,
): Query {
  const conditions = allOf(
    tenantSql,
    `recorded_at > ${fromSql}`,
    `recorded_at <= ${knownAtSql}`,
    `(at <= ${atSql} OR revision > 1 OR country != '')`,
    provider !== undefined && "provider = {provider:String}",
    until !== null &&
      `(recorded_at, event_id, account) <= (${momentSql("until")}, ` +
        "{until_event:String}, {until_account:String})",
  );
  return {
    sql: `SELECT DISTINCT toUnixTimestamp64Milli(recorded_at) AS recorded_at_ms, event_id, account
FROM subscription_changes WHERE ${conditions}
ORDER BY recorded_at_ms DESC, event_id DESC, account DESC LIMIT {rows_max:UInt32}`,
    params: given({
      ...asOfParams(asOf),
      from,
      provider,
      until: until && Number(until.recorded_at_ms),
      until_event: until?.event_id,
      until_account: until?.account,
      rows_max: rowsMax,
    }),
  };
}

export interface MrrChangeRow {
  /** Which of the causes asked about. */
  readonly cause: number;
  readonly provider: string;
  readonly subscription: string;
  readonly external_id: string;
  readonly currency: string;
  readonly country: string;
  /** ms since 1970, as text */
  readonly at_ms: string;
  readonly kind: string;
  /** `YYYY-MM` */
  readonly vintage: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

/** What each of the causes changed, in their order. */
export function mrrChangesQuery(asOf: PinnedAsOf, causes: readonly CauseRow[]): Query {
  // Each change of these accounts, once for each past it is part of: before (0) or after (1) a
  // cause. A past is reported by a name in the place of the account.
  const pasts = `(
  SELECT * REPLACE (concat(toString(place), ':', toString(side)) AS account) FROM (
    SELECT * FROM subscription_changes INNER JOIN (${pastsSql}) AS pasts USING (account)
    WHERE ${tenantSql} AND account IN {accounts:Array(String)} AND (
      (recorded_at, event_id) < (time, event)
      OR (side = 1 AND recorded_at = time AND event_id = event))
  )
)`;
  const dimensions = "cause, provider, subscription, external_id, currency, country, at, kind";
  return {
    sql: `SELECT ${dimensions.replace(" at,", " toUnixTimestamp64Milli(at) AS at_ms,")},
  formatDateTime(vintage, '%Y-%m') AS vintage, sum(m) AS mrr, sum(a) AS accounts
FROM (
  SELECT *, toUInt32(splitByChar(':', account)[1]) AS cause,
    if(endsWith(account, '1'), mrr, -mrr) AS m, if(endsWith(account, '1'), accounts, -accounts) AS a
  FROM (${plannedOnce(shouldBeSql("true", pasts), [...movementDimensions, ...movementMeasures])})
  WHERE at <= ${atSql}
)
GROUP BY ${dimensions}, vintage HAVING sum(m) != 0 OR sum(a) != 0
ORDER BY ${dimensions}, vintage`,
    params: {
      ...asOfParams(asOf),
      accounts: [...new Set(causes.map(({ account }) => account))],
      cause_accounts: causes.map(({ account }) => account),
      cause_times: causes.map(({ recorded_at_ms }) => Number(recorded_at_ms)),
      cause_events: causes.map(({ event_id }) => event_id),
    },
  };
}

/** Of each cause both sides. A join finds those of an account; an array would be run through. */
const pastsSql = `SELECT tupleElement(cause, 1) AS account,
    fromUnixTimestamp64Milli(tupleElement(cause, 2), 'UTC') AS time,
    tupleElement(cause, 3) AS event, tupleElement(cause, 4) AS place, arrayJoin([0, 1]) AS side
  FROM (
    SELECT arrayJoin(arrayZip({cause_accounts:Array(String)}, {cause_times:Array(Int64)},
      {cause_events:Array(String)}, range(length({cause_accounts:Array(String)})))) AS cause
  )`;
