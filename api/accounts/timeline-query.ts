/** What happened to one account, newest first, besides its movements and payments. */
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { transferSuffix } from "../../schemas/movements.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "../reading/query.js";

/** Moments in ms since 1970, as text. */
export interface AccountMomentRow {
  readonly at_ms: string;
  /** What moved, whatever it was called before corrections; none nets to nothing. */
  readonly parts: readonly PartTuple[];
  readonly changes: readonly ChangeTuple[];
}

/** `mrr`: decimal text, base currency. */
type PartTuple = readonly [
  subscription: string,
  external_id: string,
  kind: string,
  mrr: string,
  event_id: string,
];

/** `turns`: whether it begins or ends the subscription. */
type ChangeTuple = readonly [
  subscription: string,
  phase: string,
  is_transfer: 0 | 1,
  turns: 0 | 1,
  event_id: string,
  change_id: string,
];

/**
 * The moments at which the account's MRR moved, or a subscription began or ended without any.
 * Movements of all countries are added up: when a country becomes known, each movement leaves one
 * country and enters another, but nothing happened to the customer.
 * @param asOf `at`: the last moment that is shown
 */
export function accountMomentsQuery(asOf: PinnedAsOf, account: string, rowsMax: number): Query {
  const ofAccount = `${tenantSql} AND account = {account:String} AND recorded_at <= ${knownAtSql}`;
  return {
    sql: `SELECT toUnixTimestamp64Milli(at) AS at_ms,
  groupArrayIf((subscription, external_id, kind, toString(net), event), kind != '') AS parts,
  groupArrayIf((subscription, phase, is_transfer, turns, event, change_id), kind = '') AS changes
FROM (
  SELECT at, subscription, external_id, toString(kind) AS kind, sum(mrr) AS net,
    argMin(event_id, recorded_at) AS event, '' AS change_id, '' AS phase, 0 AS is_transfer,
    0 AS turns
  FROM mrr_movements
  WHERE ${ofAccount} AND at <= ${atSql} AND mrr != 0
  GROUP BY at, subscription, external_id, kind HAVING net != 0
  UNION ALL
  SELECT at, subscription, '', '', toDecimal128(0, 6), event_id, change_id, toString(phase),
    is_transfer, is_over != lagInFrame(is_over, 1, 1) OVER (PARTITION BY subscription ORDER BY at
      ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
  FROM (
    SELECT at, subscription, event_id, change_id, phase,
      endsWith(change_id, '${transferSuffix}') AS is_transfer,
      phase IN ('ended', 'expired') OR is_transfer AS is_over
    FROM (
      SELECT at, subscription, event_id, change_id, phase, void FROM subscription_changes
      WHERE ${ofAccount} AND subscription != ''
      ORDER BY change_id, revision DESC LIMIT 1 BY change_id
    ) WHERE NOT void AND at <= ${atSql}
    -- In the order in which they count (schemas/movements.ts): the last of a moment first.
    ORDER BY at, subscription, phase DESC, event_id DESC, change_id DESC LIMIT 1 BY at, subscription
  )
)
GROUP BY at HAVING notEmpty(parts) OR max(turns) = 1
ORDER BY at DESC LIMIT {rows_max:UInt32}`,
    params: { ...asOfParams(asOf), account, rows_max: rowsMax },
  };
}

export interface AccountCountryRow {
  readonly at_ms: string;
  readonly country: string;
  readonly event_id: string;
  readonly change_id: string;
  /** 0: never */
  readonly first_moved_at_ms: string;
}

/** The country of the account: the earliest report counts. One row, or none. */
export function accountCountryQuery(asOf: PinnedAsOf, account: string): Query {
  const ofAccount = `${tenantSql} AND account = {account:String} AND recorded_at <= ${knownAtSql}`;
  return {
    sql: `SELECT toUnixTimestamp64Milli(at) AS at_ms, country, event_id, change_id, (
    SELECT toUnixTimestamp64Milli(min(at)) FROM mrr_movements WHERE ${ofAccount} AND mrr != 0
  ) AS first_moved_at_ms
FROM subscription_changes
WHERE ${ofAccount} AND subscription = '' AND country != ''
ORDER BY at, event_id, change_id LIMIT 1`,
    params: { ...asOfParams(asOf), account },
  };
}

export interface FirstEventRow {
  readonly id: string;
  readonly event_id: string;
}

/** The raw event that first reported each of these transactions, with its time. */
export function firstEventsQuery(
  asOf: PinnedAsOf,
  transactions: readonly { readonly timestamp: string; readonly id: string }[],
): Query {
  return {
    sql: `SELECT id, argMin(event_id, (recorded_at, fact_id, version)) AS event_id
FROM transactions
PREWHERE timestamp IN {timestamps:Array(DateTime64(3, 'UTC'))}
WHERE ${tenantSql} AND id IN {ids:Array(String)} GROUP BY id`,
    params: {
      ...asOfParams(asOf),
      timestamps: transactions.map(({ timestamp }) => clickhouseTime(Date.parse(timestamp))),
      ids: transactions.map(({ id }) => id),
    },
  };
}

/**
 * Money of a known payment that was refunded, disputed or returned: entries added up, in their own
 * currency. A refund without a known payment is a transaction of its own.
 */
export interface MoneyBackRow {
  readonly at_ms: string;
  readonly kind: string;
  readonly entry: string;
  readonly provider: string;
  /** As the ledger names it. */
  readonly payment: string;
  readonly event_id: string;
  /** Of the largest line. */
  readonly external_id: string;
  readonly currency: string;
  /** minor units, signed */
  readonly amount: string;
}

export function moneyBackQuery(asOf: PinnedAsOf, account: string, rowsMax: number): Query {
  return {
    sql: `SELECT toUnixTimestamp64Milli(happened_at) AS at_ms, kind, entry, provider, payment,
  argMin(event_id, recorded_at) AS event_id, currency, sum(original_amount) AS amount,
  argMax(external_id, abs(original_amount)) AS external_id
FROM ledger
WHERE ${tenantSql} AND payment IN (
    SELECT concat(provider, ':', payment) FROM transactions
    WHERE ${tenantSql} AND account = {account:String} AND type != 'refund'
  )
  AND kind != 'sale' AND happened_at <= ${atSql} AND recorded_at <= ${knownAtSql}
GROUP BY happened_at, kind, entry, provider, payment, currency HAVING amount != 0
ORDER BY happened_at DESC, payment, entry, currency LIMIT {rows_max:UInt32}`,
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
