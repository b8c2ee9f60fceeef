/** What happened to one account, newest first, besides its movements and payments. */
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "../reading/query.js";

/** Moments in ms since 1970, as text. */
export interface AccountChangeRow {
  readonly at_ms: string;
  readonly change_id: string;
  readonly phase: string;
  readonly event_id: string;
  readonly subscription: string;
  /** decimal text, base currency; of the first step */
  readonly mrr: string;
}

/** The newest revision of each change. @param asOf `at`: the last moment that is shown */
export function accountChangesQuery(asOf: PinnedAsOf, account: string, rowsMax: number): Query {
  return {
    sql: `SELECT at_ms, change_id, phase, event_id, subscription, mrr FROM (
  SELECT toUnixTimestamp64Milli(at) AS at_ms, change_id, toString(phase) AS phase, event_id,
    subscription, void,
    arrayFold((sum, item) -> sum + item.4, steps[1].2, toDecimal128(0, 6)) AS mrr
  FROM subscription_changes
  WHERE ${tenantSql} AND account = {account:String} AND recorded_at <= ${knownAtSql}
  ORDER BY change_id, revision DESC LIMIT 1 BY change_id
) WHERE NOT void AND at_ms <= {at:Int64}
-- A churn that found its partner ends the subscription under an id of the partner, too.
ORDER BY at_ms DESC, change_id LIMIT 1 BY at_ms, subscription, phase, event_id
LIMIT {rows_max:UInt32}`,
    params: { ...asOfParams(asOf), account, rows_max: rowsMax },
  };
}

/** Money that went back, or came back from a dispute: entries added up, in their own currency. */
export interface MoneyBackRow {
  readonly at_ms: string;
  readonly kind: string;
  readonly entry: string;
  readonly provider: string;
  /** As the ledger names it. */
  readonly payment: string;
  readonly event_id: string;
  readonly currency: string;
  /** minor units, signed */
  readonly amount: string;
}

export function moneyBackQuery(asOf: PinnedAsOf, account: string, rowsMax: number): Query {
  return {
    sql: `SELECT toUnixTimestamp64Milli(happened_at) AS at_ms, kind, entry, provider, payment,
  argMin(event_id, recorded_at) AS event_id, currency, sum(original_amount) AS amount
FROM ledger
WHERE ${tenantSql} AND payment IN (
    SELECT concat(provider, ':', payment) FROM transactions
    WHERE ${tenantSql} AND account = {account:String}
  )
  AND kind != 'sale' AND happened_at <= ${atSql} AND recorded_at <= ${knownAtSql}
GROUP BY happened_at, kind, entry, provider, payment, currency HAVING amount != 0
ORDER BY happened_at DESC, payment, entry, currency LIMIT {rows_max:UInt32}`,
    params: { ...asOfParams(asOf), account, rows_max: rowsMax },
  };
}

export interface AccountEventRow {
  readonly at_ms: string;
  readonly event_id: string;
  readonly native_type: string;
}

/** The raw events that changed its subscriptions or reported its payments. */
export function accountEventsQuery(asOf: PinnedAsOf, account: string, rowsMax: number): Query {
  return {
    sql: `SELECT toUnixTimestamp64Milli(received_at) AS at_ms, event_id, native_type
FROM raw_events
WHERE ${tenantSql} AND received_at <= ${atSql} AND received_at <= ${knownAtSql} AND event_id IN (
  SELECT event_id FROM subscription_changes WHERE ${tenantSql} AND account = {account:String}
  UNION ALL
  SELECT event_id FROM transactions WHERE ${tenantSql} AND account = {account:String}
)
ORDER BY received_at DESC, event_id LIMIT 1 BY received_at, event_id LIMIT {rows_max:UInt32}`,
    params: { ...asOfParams(asOf), account, rows_max: rowsMax },
  };
}

export interface PayerRow {
  readonly provider: string;
}

/** One row when it paid or subscribed to anything, else none. */
export function payerQuery(asOf: PinnedAsOf, account: string): Query {
  return {
    sql: `SELECT provider FROM (
  SELECT provider FROM subscription_changes
  WHERE ${tenantSql} AND account = {account:String} AND at <= ${atSql}
    AND recorded_at <= ${knownAtSql} LIMIT 1
  UNION ALL
  SELECT provider FROM transactions
  WHERE ${tenantSql} AND account = {account:String} AND timestamp <= ${atSql}
    AND recorded_at <= ${knownAtSql} LIMIT 1
) LIMIT 1`,
    params: { ...asOfParams(asOf), account },
  };
}
