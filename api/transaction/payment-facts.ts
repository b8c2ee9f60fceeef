/** All that is known of a payment: its own facts, and those of the purchases it is linked to. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { paymentKey, purchaseKey, tieOf } from "../../schemas/money-keys.js";
import { type Environment, type Fact, factCodec } from "../../schemas/records/records.js";
import { type MoneyFactRow, factsUnderKeysQuery } from "./facts-query.js";

interface Scope {
  readonly workspace: string;
  readonly environment: Environment;
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
