/** All versions of one transaction, oldest first. */
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, atSql, tenantSql } from "../reading/query.js";
import { recordedSql, transactionColumns } from "../transactions/query.js";
import type { TransactionRow } from "../transactions/listed-row.js";

export interface VersionRow extends TransactionRow {
  /** ms since 1970, as text */
  readonly recorded_at_ms: string;
  readonly booked_at_ms: string;
  /** The newest fact it knows. */
  readonly fact_id: string;
  readonly event_id: string;
  readonly fx_source: string;
}

/**
 * Of the rows with one newest fact only the last: the others were made before an event received
 * earlier was booked, and no answer as of any moment shows them.
 */
export function transactionVersionsQuery(asOf: PinnedAsOf, id: string): Query {
  return {
    sql: `SELECT * FROM (
  SELECT ${versionColumns} FROM transactions
  WHERE ${tenantSql} AND id = {id:String} AND timestamp <= ${atSql} AND ${recordedSql}
  ORDER BY recorded_at, fact_id, version DESC LIMIT 1 BY recorded_at, fact_id
) ORDER BY recorded_at_ms, fact_id`,
    params: { ...asOfParams(asOf), id },
  };
}

/** The versions recorded under one event, of some payments' transactions. */
export function eventVersionsQuery(
  tenant: Pick<PinnedAsOf, "workspace" | "environment">,
  eventId: string,
  ids: readonly string[],
  rowsMax: number,
): Query {
  return {
    sql: `SELECT ${versionColumns} FROM transactions
WHERE ${tenantSql} AND id IN {ids:Array(String)} AND event_id = {event_id:String}
ORDER BY recorded_at, fact_id, version LIMIT {rows_max:UInt32}`,
    params: { ...tenant, ids, event_id: eventId, rows_max: rowsMax },
  };
}

const versionColumns = `${transactionColumns},
  toUnixTimestamp64Milli(recorded_at) AS recorded_at_ms,
  toUnixTimestamp64Milli(booked_at) AS booked_at_ms, fact_id, event_id, fx_source`;
