/** Rows put straight into the tables, for tests of what reads them. */
import { randomUUID } from "node:crypto";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { jsonRows, columnNames } from "../../stores/clickhouse/sql-text.js";
import { bookedNow } from "../../schemas/booked-at.js";
import type { Several } from "../../schemas/http/several.js";
import { trialPrice } from "../../schemas/subscriptions/change.js";

export interface Tenant {
  readonly workspace: string;
  readonly environment: "live" | "test";
}

export function newTenant(environment: Tenant["environment"] = "live"): Tenant {
  return { workspace: `ws_${randomUUID()}`, environment };
}

const usualMovement = {
  provider: "stripe",
  external_id: "prod_a",
  currency: "USD",
  country: "US",
  accounts: 0,
  subscriptions: 0,
};

/** Times in ms since 1970; what is left out has a plain value. */
export interface TestMovement extends Partial<typeof usualMovement> {
  readonly account: string;
  readonly at: number;
  readonly recorded_at: number;
  readonly kind: string;
  /** `YYYY-MM-DD` */
  readonly vintage: string;
  readonly mrr: string;
  readonly subscription?: string;
}

export async function insertMovements(
  clickhouse: ClickHouse,
  tenant: Tenant,
  movements: readonly TestMovement[],
): Promise<void> {
  const rows = movements.map((movement) => ({
    ...tenant,
    ...usualMovement,
    subscription: `sub_${movement.account}`,
    event_id: "evt",
    ...movement,
  }));
  await clickhouse.write(
    `INSERT INTO mrr_movements (${columnNames(movementColumns).join(", ")}, correction, booked_at)
     SELECT *, 0, ${bookedNow} FROM ${jsonRows(movementColumns, rows)}`,
  );
}

const movementColumns = `workspace String, environment String, account String, provider String,
  subscription String, external_id String, currency String, country String,
  at DateTime64(3, 'UTC'), kind String, vintage Date, mrr Decimal(38, 6), accounts Int32,
  subscriptions Int32, recorded_at DateTime64(3, 'UTC'), event_id String`;

const usualEntry = {
  provider: "stripe",
  external_id: "prod_a",
  currency: "USD",
  country: "US",
  tax: 0,
  fee: 0,
};

export interface TestEntry extends Partial<typeof usualEntry> {
  readonly payment: string;
  readonly kind: "sale" | "refund" | "dispute" | "dispute_won";
  readonly happened_at: number;
  readonly recorded_at: number;
  readonly amount: number;
  readonly sales: number;
}

export async function insertLedger(
  clickhouse: ClickHouse,
  tenant: Tenant,
  entries: readonly TestEntry[],
): Promise<void> {
  const rows = entries.map((entry) => ({
    ...tenant,
    ...usualEntry,
    entry: entry.kind,
    event_id: "evt",
    fact_id: "fact",
    original_amount: entry.amount,
    ...entry,
  }));
  await clickhouse.write(
    `INSERT INTO ledger SELECT *, ${bookedNow} FROM ${jsonRows(ledgerColumns, rows)}`,
  );
}

const ledgerColumns = `workspace String, environment String, payment String, entry String,
  kind String, provider String, external_id String, currency String, country String,
  happened_at DateTime64(3, 'UTC'), recorded_at DateTime64(3, 'UTC'), event_id String,
  fact_id String, original_amount Int64, amount Int64, tax Int64, fee Int64, sales Int32`;

const usualVersion = {
  provider: "stripe",
  account: "acc",
  external_id: "prod_a",
  gross_amount: 1999,
  original_currency: "USD",
  base_currency: "USD",
  fx_rate: "1",
  fx_date: "2026-01-01",
  refunded_amount: 0,
  customer_country: "US",
};

export interface TestVersion extends Partial<typeof usualVersion> {
  readonly id: string;
  readonly timestamp: number;
  readonly recorded_at: number;
  readonly version: number;
  readonly status?: "succeeded" | "refunded" | "disputed";
  readonly payment?: string;
  readonly normalized_amount?: bigint;
  readonly tax_amount?: number;
  readonly fee_amount?: number;
  readonly type?: "subscription" | "one_time" | "refund";
}

/** The payment is called `pay_<id>`. */
export async function insertTransactions(
  clickhouse: ClickHouse,
  tenant: Tenant,
  versions: readonly TestVersion[],
): Promise<void> {
  const rows = versions.map((version) => ({
    ...tenant,
    ...usualVersion,
    fact_id: `fact_${String(version.version).padStart(4, "0")}`,
    event_id: "evt",
    payment: `pay_${version.id}`,
    normalized_amount: version.gross_amount ?? usualVersion.gross_amount,
    fx_source: "same",
    tax_amount: null,
    fee_amount: null,
    type: "one_time",
    status: "succeeded",
    backfill: 0,
    ...version,
  }));
  await clickhouse.write(
    `INSERT INTO transactions SELECT *, ${bookedNow} FROM ${jsonRows(transactionColumns, rows)}`,
  );
}

const transactionColumns = `workspace String, environment String,
  timestamp DateTime64(3, 'UTC'), id String, recorded_at DateTime64(3, 'UTC'), fact_id String,
  version UInt32, event_id String, provider String, payment String, account String,
  external_id String, gross_amount Int64, original_currency String, normalized_amount Int64,
  base_currency String, fx_rate String, fx_date String, fx_source String, refunded_amount Int64,
  tax_amount Nullable(Int64), fee_amount Nullable(Int64), customer_country String, type String,
  status String, backfill UInt8`;

export interface TestChange {
  readonly account: string;
  readonly change_id: string;
  readonly at: number;
  readonly recorded_at: number;
  readonly phase: "expired" | "started" | "changed" | "ended";
  /** MRR from then on, a price of its own for each value; or `trialPrice` */
  readonly mrr: string;
  /** Made from `change_id` when left out. */
  readonly event_id?: string;
}

/** Subscriptions of one item; what is worth nothing has no item. */
export async function insertChanges(
  clickhouse: ClickHouse,
  tenant: Tenant,
  changes: readonly TestChange[],
): Promise<void> {
  const rows = changes.map(({ mrr, ...change }) => ({
    ...tenant,
    provider: "stripe",
    subscription: `sub_${change.account}`,
    revision: 1,
    void: 0,
    event_id: `evt_${change.change_id}`,
    currency: "USD",
    country: "",
    ...change,
    steps: [{ at: change.at, items: itemsOf(mrr) }],
  }));
  await clickhouse.write(
    `INSERT INTO subscription_changes SELECT *, ${bookedNow} FROM ${jsonRows(changeColumns, rows)}`,
  );
}

function itemsOf(mrr: string) {
  const item = { item: "item", external_id: "prod_a" };
  if (mrr === trialPrice) return [{ ...item, price: trialPrice, mrr: "0" }];
  return mrr === "0" ? [] : [{ ...item, price: `USD:${mrr}`, mrr }];
}

const changeColumns = `workspace String, environment String, account String, provider String,
  subscription String, change_id String, revision UInt32, void UInt8, at DateTime64(3, 'UTC'),
  phase Enum8('expired' = -1, 'started' = 0, 'changed' = 1, 'ended' = 2), event_id String,
  recorded_at DateTime64(3, 'UTC'), currency String, country String,
  steps Array(Tuple(at DateTime64(3, 'UTC'), items Array(Tuple(
    item String, external_id String, price String, mrr Decimal(38, 6)))))`;

/** A filter that lets these through. */
export function some(...values: readonly string[]): Several {
  return { isNot: false, values };
}

/** A filter that lets all others through. */
export function allBut(...values: readonly string[]): Several {
  return { isNot: true, values };
}
