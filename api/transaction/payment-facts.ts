/** All that is known of a payment: its own facts, and those of the purchases it is linked to. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { paymentKey, purchaseKey, tieOf } from "../../schemas/ids.js";
import { type Fact, factCodec, type Tenant } from "../../schemas/records/records.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { allOf, given, knownAtSql, type Query, tenantSql } from "../reading/query.js";

interface Scope extends Tenant {
  /** ms since 1970; what was received up to then. Left out: all. */
  readonly knownAt?: number;
}

/** @returns in order of receipt, as booking reads them */
export async function factsOfPayment(
  clickhouse: Pick<ClickHouse, "rows">,
  scope: Scope,
  provider: string,
  payment: string,
): Promise<Fact[]> {
  const own = await under(clickhouse, scope, provider, [paymentKey(payment)]);
  const purchases = new Set(own.flatMap(({ body }) => tieOf(body)?.purchase ?? []));
  const linked = await under(clickhouse, scope, provider, [...purchases].map(purchaseKey));
  // The key of a purchase has its links to other payments, too.
  const ofPurchase = linked.filter(({ body }) => "Purchase" in body || "Refund" in body);
  const all = new Map([...own, ...ofPurchase].map((fact) => [fact.fact_id, fact]));
  return [...all.values()].sort(byReceipt);
}

/** The payments facts are about: those they name, and those their purchases are linked to. */
export async function paymentsOf(
  clickhouse: Pick<ClickHouse, "rows">,
  scope: Scope,
  provider: string,
  keys: readonly string[],
): Promise<string[]> {
  const purchases = keys.filter((key) => key.startsWith(purchaseKey("")));
  const around = await under(clickhouse, scope, provider, purchases);
  const named = keys.filter((key) => key.startsWith(paymentKey("")));
  return [
    ...new Set([
      ...named.map((key) => key.slice(paymentKey("").length)),
      ...around.flatMap(({ body }) => ("Link" in body ? [body.Link.payment] : [])),
    ]),
  ];
}

async function under(
  clickhouse: Pick<ClickHouse, "rows">,
  scope: Scope,
  provider: string,
  keys: readonly string[],
): Promise<Fact[]> {
  if (keys.length === 0) return [];
  const { sql, params } = factsUnderKeysQuery(scope, provider, keys);
  const rows = await clickhouse.rows<MoneyFactRow>(sql, params);
  return rows.map((row) => factCodec.fromText(row.fact));
}

function byReceipt(one: Fact, other: Fact): number {
  return one.received_at - other.received_at || (one.fact_id < other.fact_id ? -1 : 1);
}

export interface MoneyFactRow {
  /** `payment:…` or `purchase:…` */
  readonly key: string;
  /** Avro JSON of `schemas/records` Fact */
  readonly fact: string;
}

/** @param asOf with `knownAt`: those known then; without: all */
function factsUnderKeysQuery(
  { workspace, environment, knownAt }: Tenant & { readonly knownAt?: number },
  provider: string,
  keys: readonly string[],
): Query {
  const condition = allOf(
    tenantSql,
    "provider = {provider:String} AND key IN {keys:Array(String)}",
    knownAt !== undefined && knownSql,
  );
  return {
    sql: `SELECT key, fact FROM money_facts WHERE ${condition}
ORDER BY received_at, fact_id LIMIT 1 BY key, fact_id`,
    params: given({ workspace, environment, provider, keys, known_at: knownAt }),
  };
}

export interface LinkedFactRow extends Pick<MoneyFactRow, "fact"> {
  readonly provider: string;
}

/** The facts under the key of a purchase, of any provider. */
export function factsOfPurchaseQuery(asOf: PinnedAsOf, key: string): Query {
  const { workspace, environment, knownAt } = asOf;
  return {
    sql: `SELECT provider, fact FROM money_facts
WHERE ${tenantSql} AND provider IN {providers:Array(String)} AND key = {key:String} AND ${knownSql}
ORDER BY provider, fact_id LIMIT 1 BY provider, fact_id`,
    params: { workspace, environment, known_at: knownAt, providers: [...providerTokens], key },
  };
}

const knownSql = `received_at <= ${knownAtSql}`;

export function factsOfEventQuery(tenant: Tenant, eventId: string, rowsMax: number): Query {
  const { workspace, environment } = tenant;
  return {
    sql: `SELECT key, fact FROM money_facts
WHERE ${tenantSql} AND event_id = {event_id:String}
ORDER BY fact_id, key LIMIT 1 BY key, fact_id LIMIT {rows_max:UInt32}`,
    params: { workspace, environment, event_id: eventId, rows_max: rowsMax },
  };
}
