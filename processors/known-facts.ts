/**
 * *Write, then look*: all that is known of the payments a batch touches. A payment's purchases are
 * found through its links, and a purchase's payments through its own, so whoever comes second sees
 * both sides.
 */
import { rowsIn } from "../backends/clickhouse-rows.js";
import type { ClickHouse } from "../backends/clickhouse.js";
import { type Environment, type Fact, factCodec } from "../schemas/records.js";
import { paymentKey, purchaseKey, subjects } from "./facts.js";
import { byReceipt } from "./readings.js";

export interface KnownPayment {
  readonly workspace: string;
  readonly environment: Environment;
  readonly provider: string;
  readonly payment: string;
  /** Of the payment and of the purchases linked to it, in order of receipt, each once. */
  readonly facts: readonly Fact[];
  /** How many rows were seen under each key; with more of them by now, this view is old. */
  readonly keys: ReadonlyMap<string, number>;
}

type Scope = Pick<Fact, "workspace" | "environment" | "provider">;

export async function knownFacts(
  clickhouse: ClickHouse,
  batch: readonly Fact[],
): Promise<KnownPayment[]> {
  const known = new KnownRows(clickhouse);
  // Three looks reach everything: what was touched, the payments of touched purchases, and the
  // purchases of all those payments.
  await known.load(batch.flatMap((fact) => subjects(fact.body).map((key) => ({ fact, key }))));
  const payments = known.links(({ payment }) => paymentKey(payment));
  await known.load(payments);
  await known.load(known.links(({ purchase }) => purchaseKey(purchase)));
  return known.payments();
}

class KnownRows {
  readonly #clickhouse: ClickHouse;
  readonly #rows = new Map<string, { scope: Scope; key: string; facts: Fact[] }>();

  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse;
  }

  async load(wanted: readonly { fact: Scope; key: string }[]): Promise<void> {
    const missing = new Map<string, { scope: Scope; key: string; facts: Fact[] }>();
    for (const { fact, key } of wanted) {
      const name = nameOf(fact, key);
      if (!this.#rows.has(name)) missing.set(name, { scope: fact, key, facts: [] });
    }
    if (missing.size === 0) return;
    const tuples = [...missing.values()].map(({ scope, key }) => [
      scope.workspace,
      scope.environment,
      scope.provider,
      key,
    ]);
    const rows = await this.#clickhouse.rows<{ key: string; fact: string }>(
      `SELECT key, fact FROM money_facts
       WHERE ${rowsIn("(workspace, environment, provider, key)", tuples)}`,
    );
    for (const row of rows) {
      const fact = factCodec.fromText(row.fact);
      missing.get(nameOf(fact, row.key))?.facts.push(fact);
    }
    for (const [name, entry] of missing) this.#rows.set(name, entry);
  }

  /** The keys at one end of all links seen so far. */
  links(
    end: (link: { payment: string; purchase: string }) => string,
  ): { fact: Scope; key: string }[] {
    return [...this.#rows.values()].flatMap(({ facts }) =>
      facts.flatMap((fact) => ("Link" in fact.body ? [{ fact, key: end(fact.body.Link) }] : [])),
    );
  }

  payments(): KnownPayment[] {
    return [...this.#rows.values()].flatMap(({ scope, key, facts }) => {
      const payment = key.startsWith(paymentKey("")) ? key.slice(paymentKey("").length) : null;
      if (payment === null || facts.length === 0) return [];
      const keys = new Map([[key, facts.length]]);
      const all = new Map(facts.map((fact) => [fact.fact_id, fact]));
      for (const { body } of facts) {
        if (!("Link" in body)) continue;
        const purchase = purchaseKey(body.Link.purchase);
        const there = this.#rows.get(nameOf(scope, purchase))?.facts ?? [];
        keys.set(purchase, there.length);
        for (const fact of there) if ("Purchase" in fact.body) all.set(fact.fact_id, fact);
      }
      const { workspace, environment, provider } = scope;
      return [
        {
          workspace,
          environment,
          provider,
          payment,
          keys,
          facts: [...all.values()].sort(byReceipt),
        },
      ];
    });
  }
}

function nameOf({ workspace, environment, provider }: Scope, key: string): string {
  return JSON.stringify([workspace, environment, provider, key]);
}
