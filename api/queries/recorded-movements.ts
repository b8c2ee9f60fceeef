/** Recorded MRR movements, row by row, in the order of the table. */
import { clickhouseTime } from "../../backends/clickhouse-rows.js";
import { recordedColumns } from "../../schemas/movements.js";
import type { PinnedAsOf } from "../pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "./query.js";

/** Where a page ended: so many rows of this account and moment were shown. */
export interface RecordedMovementPosition {
  readonly account: string;
  /** ms since 1970 */
  readonly at: number;
  readonly rows: number;
}

/** What is taken back and comes again adds nothing on the way. */
const conditions = [tenantSql, `at <= ${atSql}`, `recorded_at <= ${knownAtSql}`, "mrr != 0"];

/** @param rowsMax fewer rows mean the end of the list */
export function recordedMovementsQuery(
  asOf: PinnedAsOf,
  after: RecordedMovementPosition | null,
  rowsMax: number,
): Query {
  // The tuple alone would not use the primary key.
  const later =
    after === null
      ? []
      : [
          "account >= {account:String}",
          "(account, at) >= ({account:String}, {after:DateTime64(3, 'UTC')})",
        ];
  return {
    sql: `SELECT ${recordedColumns} FROM mrr_movements
WHERE ${[...conditions, ...later].join(" AND ")}
ORDER BY account, at, subscription, external_id, kind, vintage, currency, country, mrr,
  recorded_at, event_id
LIMIT {rows_max:UInt32} OFFSET {shown:UInt32}`,
    params: {
      ...asOfParams(asOf),
      rows_max: rowsMax,
      shown: after?.rows ?? 0,
      ...(after === null ? {} : { account: after.account, after: clickhouseTime(after.at) }),
    },
  };
}

export interface RecordedMovementCountRow {
  readonly movements: string;
}

export function recordedMovementCountQuery(asOf: PinnedAsOf): Query {
  return {
    sql: `SELECT count() AS movements FROM mrr_movements WHERE ${conditions.join(" AND ")}`,
    params: asOfParams(asOf),
  };
}
