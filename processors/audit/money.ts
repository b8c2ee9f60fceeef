/**
 * Payments in the order of the tables' primary keys, a bounded number of facts at a time. Ledger
 * and versions are a function of the facts received up to a moment, so up to `knownTo` they can be
 * audited while booking goes on.
 */
import { clickhouseTime, fromClickhouseTime, matching } from "../../stores/clickhouse/rows.js";
import { literal } from "../../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { tenantSql } from "./account-slices.js";
import { paymentKey, purchaseKey, tieOf } from "../../schemas/ids.js";
import { type Fact, factCodec, type Tenant } from "../../schemas/records/records.js";
import { grouped } from "../../runtime/lists.js";
import type { PaymentName } from "../book/money/money-tables.js";
import { withPurchases } from "../book/payment/invoice-allocation.js";

/** Facts about money an audit holds at a time. */
const auditFactsMax = 5_000;

/** Payments of one provider after the first up to the second, inclusive; null: to the last. */
export interface PaymentSlice extends Tenant {
  readonly provider: string;
  readonly after: string;
  readonly upTo: string | null;
  /** ms since 1970: what was received later is left out. */
  readonly knownTo: number;
}

/** All facts of a payment and of the purchases linked to it, in order of receipt, each once. */
interface AuditedPayment extends PaymentName {
  readonly facts: readonly Fact[];
}

export async function* paymentSlices(
  clickhouse: Pick<ClickHouse, "rows">,
  tenant: Tenant,
  knownTo: number,
): AsyncGenerator<PaymentSlice> {
  const inTenant = tenantSql(tenant);
  const providers = await clickhouse.rows<{ provider: string }>(
    `SELECT DISTINCT provider FROM (
       SELECT provider FROM money_facts WHERE ${inTenant}
       UNION ALL SELECT provider FROM ledger WHERE ${inTenant}
     ) ORDER BY provider`,
  );
  for (const { provider } of providers) {
    let after: string | null = "";
    while (after !== null) {
      const rest: PaymentSlice = { ...tenant, provider, after, upTo: null, knownTo };
      const ends = await Promise.all([
        clickhouse.rows<{ end: string }>(
          `SELECT substring(key, ${paymentKey("").length + 1}) AS end FROM money_facts
           WHERE ${factsIn(rest)} ORDER BY key LIMIT 1 OFFSET ${auditFactsMax}`,
        ),
        clickhouse.rows<{ end: string }>(
          `SELECT substring(payment, ${provider.length + 2}) AS end FROM ledger
           WHERE ${ledgerIn(rest)} ORDER BY payment LIMIT 1 OFFSET ${auditFactsMax}`,
        ),
      ]);
      const payments = ends.flat().map(({ end }) => end);
      const upTo: string | null = payments.sort()[0] ?? null;
      yield { ...rest, upTo };
      after = upTo;
    }
  }
}

export async function paymentsIn(
  clickhouse: Pick<ClickHouse, "rows">,
  slice: PaymentSlice,
): Promise<AuditedPayment[]> {
  const own = await readFacts(clickhouse, factsIn(slice), slice.knownTo);
  const { workspace, environment, provider } = slice;
  const ties = [...own.values()].flat().flatMap(({ body }) => tieOf(body) ?? []);
  const keys = ties.map(({ purchase }) => {
    return { workspace, environment, provider, key: purchaseKey(purchase) };
  });
  const inKeys = matching(keys, "workspace", "environment", "provider", "key");
  const purchases =
    keys.length === 0
      ? new Map<string, Fact[]>()
      : await readFacts(clickhouse, inKeys, slice.knownTo);
  return Array.from(own, ([key, facts]) => ({
    workspace,
    environment,
    provider,
    payment: key.slice(paymentKey("").length),
    facts: withPurchases(facts, (purchase) => purchases.get(purchaseKey(purchase)) ?? []),
  }));
}

/** By key. Of a fact that is stored twice the first receipt counts, as in booking. */
async function readFacts(
  clickhouse: Pick<ClickHouse, "rows">,
  condition: string,
  knownTo: number,
): Promise<Map<string, Fact[]>> {
  const rows = await clickhouse.rows<{ key: string; fact: string }>(
    `SELECT key, fact FROM money_facts
     WHERE ${condition} AND received_at <= '${clickhouseTime(knownTo)}'
     ORDER BY key, fact_id, received_at LIMIT 1 BY key, fact_id`,
  );
  const found = grouped(rows, ({ key }) => key);
  return new Map(
    Array.from(found, ([key, some]) => [key, some.map(({ fact }) => factCodec.fromText(fact))]),
  );
}

/** SQL condition on `ledger`. */
export function ledgerIn(slice: PaymentSlice): string {
  const { provider, after, upTo, knownTo } = slice;
  // ';' is the character after ':'.
  const end =
    upTo === null ? `payment < ${literal(`${provider};`)}` : `payment <= ${named(provider, upTo)}`;
  return (
    `${tenantSql(slice)} AND payment > ${named(provider, after)} AND ${end} ` +
    `AND recorded_at <= '${clickhouseTime(knownTo)}'`
  );
}

function factsIn(slice: PaymentSlice): string {
  const { provider, after, upTo } = slice;
  const end = upTo === null ? "key < 'payment;'" : `key <= ${literal(paymentKey(upTo))}`;
  return (
    `${tenantSql(slice)} AND provider = ${literal(provider)} ` +
    `AND key > ${literal(paymentKey(after))} AND ${end}`
  );
}

function named(provider: string, payment: string): string {
  return literal(`${provider}:${payment}`);
}

export function isoTime(text: string): string {
  return new Date(fromClickhouseTime(text)).toISOString();
}
