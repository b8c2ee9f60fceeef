/** The subscription changes of one raw event, and the movements recorded under it. */
import type { MrrChangeRow } from "../mrr-changes/query.js";
import { type Query, tenantSql } from "../reading/query.js";
import type { Tenant } from "../../schemas/records/records.js";

export interface ChangeRow {
  readonly change_id: string;
  readonly revision: number;
  readonly void: number;
  readonly account: string;
  /** Empty: the event only says where the customer is. */
  readonly subscription: string;
  readonly phase: string;
  readonly currency: string;
  /** ms since 1970, as text */
  readonly at_ms: string;
  /** decimal text, base currency; of the first step */
  readonly mrr: string;
  readonly recorded_at_ms: string;
  readonly booked_at_ms: string;
}

export function eventChangesQuery(tenant: Tenant, eventId: string, rowsMax: number): Query {
  return {
    sql: `SELECT change_id, revision, void, account, subscription, toString(phase) AS phase,
  currency, toUnixTimestamp64Milli(at) AS at_ms,
  arrayFold((sum, item) -> sum + item.4, steps[1].2, toDecimal128(0, 6)) AS mrr,
  toUnixTimestamp64Milli(recorded_at) AS recorded_at_ms,
  toUnixTimestamp64Milli(booked_at) AS booked_at_ms
FROM subscription_changes
WHERE ${tenantSql} AND event_id = {event_id:String}
ORDER BY recorded_at, change_id, revision LIMIT {rows_max:UInt32}`,
    params: paramsOf(tenant, eventId, rowsMax),
  };
}

export interface EventMovementRow extends Omit<MrrChangeRow, "event_id" | "accounts"> {
  readonly booked_at_ms: string;
}

/** @param accounts that the event touched */
export function eventMovementsQuery(
  tenant: Tenant,
  eventId: string,
  accounts: readonly string[],
  rowsMax: number,
): Query {
  return {
    sql: `SELECT account, provider, subscription, external_id, currency, country, kind,
  formatDateTime(vintage, '%Y-%m') AS vintage, toUnixTimestamp64Milli(at) AS at_ms, mrr,
  toUnixTimestamp64Milli(recorded_at) AS recorded_at_ms,
  toUnixTimestamp64Milli(booked_at) AS booked_at_ms
FROM mrr_movements
WHERE ${tenantSql} AND account IN {accounts:Array(String)} AND event_id = {event_id:String}
  AND mrr != 0
ORDER BY account, at, subscription, external_id, kind, vintage, mrr LIMIT {rows_max:UInt32}`,
    params: { ...paramsOf(tenant, eventId, rowsMax), accounts },
  };
}

function paramsOf({ workspace, environment }: Tenant, eventId: string, rowsMax: number) {
  return { workspace, environment, event_id: eventId, rows_max: rowsMax };
}
