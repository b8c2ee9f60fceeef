import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "../reading/query.js";

/** Minor units as text: `original_amount` of `currency`, the others of base currency. */
export interface EntryRow {
  readonly entry: string;
  readonly kind: string;
  readonly provider: string;
  readonly external_id: string;
  readonly currency: string;
  readonly country: string;
  readonly original_amount: string;
  readonly amount: string;
  readonly tax: string;
  readonly fee: string;
  readonly sales: number;
  /** ms since 1970, as text */
  readonly happened_at_ms: string;
  readonly recorded_at_ms: string;
  readonly booked_at_ms: string;
  readonly event_id: string;
}

/** @param payment as the ledger names it */
export function paymentEntriesQuery(asOf: PinnedAsOf, payment: string): Query {
  return {
    sql: `SELECT ${columns} FROM ledger
WHERE ${tenantSql} AND payment = {payment:String}
  AND happened_at <= ${atSql} AND recorded_at <= ${knownAtSql}
ORDER BY ${inOrder}`,
    params: { ...asOfParams(asOf), payment },
  };
}

export function eventEntriesQuery(
  tenant: Pick<PinnedAsOf, "workspace" | "environment">,
  eventId: string,
  payments: readonly string[],
  rowsMax: number,
): Query {
  return {
    sql: `SELECT ${columns} FROM ledger
WHERE ${tenantSql} AND payment IN {payments:Array(String)} AND event_id = {event_id:String}
ORDER BY ${inOrder} LIMIT {rows_max:UInt32}`,
    params: { ...tenant, payments, event_id: eventId, rows_max: rowsMax },
  };
}

const columns = `entry, kind, provider, external_id, currency, country, original_amount, amount,
  tax, fee, sales, toUnixTimestamp64Milli(happened_at) AS happened_at_ms,
  toUnixTimestamp64Milli(recorded_at) AS recorded_at_ms,
  toUnixTimestamp64Milli(booked_at) AS booked_at_ms, event_id`;

/** One order for all rows, because a country that becomes known moves an entry under one fact. */
const inOrder =
  "happened_at, recorded_at, fact_id, entry, external_id, kind, currency, country, amount";
