/**
 * Purchases without a reported payment: invoices whose charges do not come. One look covers the
 * events of an integration that were received in a span of time.
 */
import { clickhouseTime } from "../stores/clickhouse/rows.js";
import type { ClickHouse } from "../stores/clickhouse/clickhouse.js";
import type { UnpaidPurchase } from "../providers/backfill.js";
import { paymentKey, purchaseKey } from "../schemas/ids.js";
import { type Fact, factCodec, type Tenant } from "../schemas/records/records.js";

/** A payment's event comes within seconds of its purchase's, or when a failed call is repeated. */
export const unpaidAfterMs = 60 * 60 * 1000;

export interface Span {
  /** ms since 1970, by receipt; exclusive */
  readonly from: number;
  /** inclusive */
  readonly to: number;
}

export interface Look {
  readonly unpaid: readonly UnpaidPurchase[];
  /** How far it looked: `to`, or earlier where there were too many events. */
  readonly to: number;
}

/** An integration. */
export interface Connected extends Tenant {
  readonly id: string;
  readonly provider: string;
}

/** @param types native types whose purchases are looked at */
export async function unpaidPurchases(
  clickhouse: Pick<ClickHouse, "rows">,
  { id: integration, workspace, environment, provider }: Connected,
  types: readonly string[],
  span: Span,
  eventsMax: number,
): Promise<Look> {
  const events = await clickhouse.rows<{ event_id: string; at: string }>(
    `SELECT event_id, toString(toUnixTimestamp64Milli(max(received_at))) AS at FROM raw_events
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND integration = {integration:String} AND form = 'webhook' AND outcome = 'facts'
       AND native_type IN {types:Array(String)}
       AND received_at > {from:DateTime64(3, 'UTC')} AND received_at <= {to:DateTime64(3, 'UTC')}
     GROUP BY event_id ORDER BY max(received_at), event_id LIMIT {events:UInt32}`,
    {
      workspace,
      environment,
      integration,
      types: [...types],
      from: clickhouseTime(span.from),
      to: clickhouseTime(span.to),
      events: eventsMax,
    },
  );
  if (events.length === 0) return { unpaid: [], to: span.to };

  const factsWhere = async (condition: string, names: readonly string[]): Promise<Fact[]> => {
    if (names.length === 0) return [];
    const rows = await clickhouse.rows<{ fact: string }>(
      `SELECT DISTINCT fact FROM money_facts
       WHERE workspace = {workspace:String} AND environment = {environment:String}
         AND provider = {provider:String} AND ${condition} IN {names:Array(String)}`,
      { workspace, environment, provider, names: [...names] },
    );
    return rows.map(({ fact }) => factCodec.fromText(fact));
  };

  // 1. What these events say was bought.
  const reported = await factsWhere(
    "event_id",
    events.map(({ event_id: id }) => id),
  );
  const purchases = new Set(
    reported.flatMap(({ body }) => ("Purchase" in body ? [body.Purchase.purchase] : [])),
  );

  // 2. The payments that events tie to them.
  const tied = new Map<string, Set<string>>();
  for (const { body } of await factsWhere("key", [...purchases].map(purchaseKey))) {
    if (!("Link" in body)) continue;
    const { purchase, payment } = body.Link;
    tied.set(purchase, (tied.get(purchase) ?? new Set()).add(payment));
  }

  // 3. The payments that are known.
  const payments = [...tied.values()].flatMap((names) => [...names]);
  const known = new Set(
    (await factsWhere("key", payments.map(paymentKey))).flatMap(({ body }) =>
      "Payment" in body ? [body.Payment.payment] : [],
    ),
  );
  const unpaid = [...purchases].flatMap((purchase) => {
    const all = [...(tied.get(purchase) ?? [])];
    const missing = all.filter((payment) => !known.has(payment));
    return all.length > 0 && missing.length === 0 ? [] : [{ purchase, payments: missing }];
  });
  const last = Number(events.at(-1)?.at);
  // Others of the same millisecond may not have been read.
  const reached = Math.max(last - 1, span.from + 1);
  return { unpaid, to: events.length < eventsMax ? span.to : reached };
}
