/** Reads an integration's booked payments of a month, and why others were not booked. */
import { limits } from "../../config.js";
import { parseBody } from "../../schemas/parse.js";
import type { Provider } from "../../providers/provider.js";
import type { Span } from "../../providers/backfill.js";
import { chunksBySize } from "../../runtime/lists.js";
import type { Service } from "../../service.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { clickhouseTime, fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import type { Integration } from "../../workspaces/integrations.js";
import { intactRecord } from "../../workspaces/rejects/replay.js";
import type { BookedPayment, Evidence } from "./compare-month.js";

type Reading = Pick<ClickHouse, "rows">;
export type Of = Pick<Integration, "id" | "workspace" | "environment" | "provider">;

/** Beside the month, too: a provider and we may date a payment on either side of its end. */
const dayMs = 24 * 60 * 60 * 1000;
export const besideMonthMs = dayMs;
export const idsAtOnce = 1_000;
const unbookedMax = 1_000;
/** Unless a day has more. */
const rowsAtOnce = 10_000;

interface Row {
  readonly id: string;
  readonly payment: string;
  readonly event_id: string;
  readonly type: string;
  readonly original_currency: string;
  readonly gross_amount: string;
  readonly refunded_amount: string;
  readonly fee_amount: string | null;
  readonly tax_amount: string | null;
  readonly timestamp: string;
  readonly recorded_at: string;
}

/**
 * The newest version of each transaction of the provider, in and around the month, in order of
 * days. Read some days at a time, to keep answers short.
 * @returns null: there are more than can be compared
 */
export async function bookedAround(
  clickhouse: Reading,
  of: Of,
  { from, to }: Span,
): Promise<BookedPayment[] | null> {
  const around = { from: from - besideMonthMs, to: to + besideMonthMs };
  const rowsOn = await rowsByDay(clickhouse, of, around);
  const days: number[] = [];
  for (let day = around.from; day < around.to; day += dayMs) days.push(day);
  const booked: BookedPayment[] = [];
  for (const some of chunksBySize(days, rowsAtOnce, (day) => rowsOn.get(day) ?? 0)) {
    const [first = 0, last = first] = [some[0], some.at(-1)];
    const read = await bookedBetween(clickhouse, of, { from: first, to: last + dayMs });
    for (const one of read.sort((a, b) => dayOf(a.at) - dayOf(b.at))) booked.push(one);
    if (booked.length > limits.reconciledPaymentsMax) return null;
  }
  return booked;
}

const dayOf = (at: number): number => Math.floor(at / dayMs);

/** How many versions each day has, by the day's start in ms since 1970. */
async function rowsByDay(
  clickhouse: Reading,
  { workspace, environment, provider }: Of,
  { from, to }: Span,
): Promise<ReadonlyMap<number, number>> {
  const rows = await clickhouse.rows<{ day: string; versions: number }>(
    `SELECT toDate(timestamp) AS day, toUInt32(count()) AS versions FROM transactions
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND provider = {provider:String}
       AND timestamp >= {from:DateTime64(3, 'UTC')} AND timestamp < {to:DateTime64(3, 'UTC')}
     GROUP BY day`,
    { workspace, environment, provider, from: clickhouseTime(from), to: clickhouseTime(to) },
  );
  return new Map(rows.map(({ day, versions }) => [Date.parse(day), versions]));
}

async function bookedBetween(
  clickhouse: Reading,
  { workspace, environment, provider }: Of,
  { from, to }: Span,
): Promise<BookedPayment[]> {
  const rows = await clickhouse.rows<Row>(
    `SELECT id, payment, event_id, type, original_currency, gross_amount, refunded_amount,
       fee_amount, tax_amount, timestamp, recorded_at
     FROM transactions
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND provider = {provider:String}
       AND timestamp >= {from:DateTime64(3, 'UTC')} AND timestamp < {to:DateTime64(3, 'UTC')}
     ORDER BY recorded_at DESC, fact_id DESC, version DESC LIMIT 1 BY id
     LIMIT {rows:UInt32}`,
    {
      workspace,
      environment,
      provider,
      from: clickhouseTime(from),
      to: clickhouseTime(to),
      rows: limits.reconciledPaymentsMax + 1,
    },
  );
  return rows.map((row) => ({
    payment: row.payment,
    at: fromClickhouseTime(row.timestamp),
    currency: row.original_currency,
    amount: BigInt(row.gross_amount),
    refunded: BigInt(row.refunded_amount),
    fee: row.fee_amount === null ? null : BigInt(row.fee_amount),
    tax: row.tax_amount === null ? null : BigInt(row.tax_amount),
    transaction: row.id,
    event: row.event_id,
    recordedAt: fromClickhouseTime(row.recorded_at),
    isRefundAlone: row.type === "refund",
  }));
}

/** The events that came by the integration: a workspace may have several of a provider. */
export async function eventsOf(
  clickhouse: Reading,
  { id: integration, workspace, environment }: Of,
  events: readonly string[],
): Promise<ReadonlySet<string>> {
  const own = new Set<string>();
  for (const ids of chunksBySize(events, idsAtOnce, () => 1)) {
    const rows = await clickhouse.rows<{ event_id: string }>(
      `SELECT DISTINCT event_id FROM raw_events
       WHERE workspace = {workspace:String} AND environment = {environment:String}
         AND integration = {integration:String} AND event_id IN {ids:Array(String)}`,
      { workspace, environment, integration, ids },
    );
    for (const { event_id: id } of rows) own.add(id);
  }
  return own;
}

/** The payments and disputes that an event of the integration names which was not booked. */
export async function unbookedOf(
  service: Pick<Service, "clickhouse" | "log" | "vault">,
  provider: Provider,
  { id: integration, workspace, environment }: Of,
  ids: readonly string[],
): Promise<Evidence["unbooked"]> {
  const found = new Map<string, "rejected" | "mirrored">();
  if (ids.length === 0) return found;
  const named = new Map(ids.map((id) => [nativeId(id), id]));
  const rows = await service.clickhouse.rows<{
    event_id: string;
    partition: number;
    offset: string;
    outcome: string;
  }>(
    `SELECT event_id, partition, offset, outcome FROM raw_events
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND integration = {integration:String} AND (outcome = 'rejected' OR reason = 'mirrored')
     ORDER BY received_at DESC LIMIT {rows:UInt32}`,
    { workspace, environment, integration, rows: unbookedMax },
  );
  for (const row of rows) {
    const record = await intactRecord(service, row);
    const body = record === null ? null : parseBody(provider, record.body);
    for (const text of body?.ok === true ? textsIn(body.value) : []) {
      const id = named.get(text);
      if (id !== undefined) {
        found.set(id, row.outcome === "rejected" ? "rejected" : "mirrored");
      }
    }
  }
  return found;
}

/** Lemon Squeezy numbers orders and invoices apart: `order:17` is 17 in its events. */
function nativeId(payment: string): string {
  return payment.slice(payment.lastIndexOf(":") + 1);
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  if (typeof value !== "object" || value === null) return;
  for (const inside of Object.values(value)) yield* textsIn(inside);
}
