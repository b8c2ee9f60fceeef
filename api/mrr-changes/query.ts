/**
 * What single events changed of the MRR as of a moment: the movements recorded under them. Over all
 * events between two readings they add up to the difference of the two.
 */
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

export interface MrrChangeRow {
  /** ms since 1970, as text: the receipt of the event. */
  readonly recorded_at_ms: string;
  readonly event_id: string;
  readonly account: string;
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

/** Where a page ended: so many rows of this event and account were shown. */
export interface MrrChangePosition extends Pick<
  MrrChangeRow,
  "recorded_at_ms" | "event_id" | "account"
> {
  readonly rows: number;
}

/**
 * Those recorded after `from` and up to `knownAt` of what happened up to `at`; the newest event
 * first. Rows of one event that correct each other are one.
 *
 * @param from ms since 1970
 * @param rowsMax fewer rows mean the end of the list
 */
export function mrrChangesQuery(
  asOf: PinnedAsOf,
  from: number,
  provider: readonly string[] | undefined,
  after: MrrChangePosition | null,
  rowsMax: number,
): Query {
  const conditions = allOf(
    tenantSql,
    `recorded_at > ${fromSql}`,
    `recorded_at <= ${knownAtSql}`,
    `at <= ${atSql}`,
    provider !== undefined && "provider IN {provider:Array(String)}",
    after !== null &&
      `(recorded_at, event_id, account) <= (${momentSql("after")}, ` +
        "{after_event:String}, {after_account:String})",
  );
  const place = "provider, subscription, external_id, currency, country, at, kind, vintage";
  return {
    sql: `SELECT toUnixTimestamp64Milli(recorded_at) AS recorded_at_ms, event_id, account,
  ${place.replace(" at, kind, vintage", " toUnixTimestamp64Milli(at) AS at_ms, kind")},
  formatDateTime(vintage, '%Y-%m') AS vintage, m AS mrr, a AS accounts
FROM (
  SELECT recorded_at, event_id, account, ${place}, sum(mrr) AS m, sum(accounts) AS a
  FROM mrr_movements WHERE ${conditions}
  GROUP BY recorded_at, event_id, account, ${place} HAVING m != 0 OR a != 0
)
ORDER BY recorded_at DESC, event_id DESC, account DESC, ${place}
LIMIT {rows_max:UInt32} OFFSET {shown:UInt32}`,
    params: given({
      ...asOfParams(asOf),
      from,
      provider,
      after: after && Number(after.recorded_at_ms),
      after_event: after?.event_id,
      after_account: after?.account,
      rows_max: rowsMax,
      shown: after?.rows ?? 0,
    }),
  };
}
