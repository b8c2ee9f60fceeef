/**
 * *Write, then look*: all that is known of the payments a batch touches. A payment's purchases are
 * found through its links, and a purchase's payments through its own, so whoever comes second sees
 * both sides.
 */
import { rowsIn } from "../backends/clickhouse-rows.js";
import type { ClickHouse } from "../backends/clickhouse.js";
import { type Environment, type Fact, factCodec } from "../schemas/records.js";
import { paymentKey, purchaseKey, subjects } from "./facts.js";
import { insertFacts } from "./money-tables.js";
import { byReceipt } from "./readings.js";

export interface KnownPayment {
  readonly workspace: string;
  readonly environment: Environment;
  readonly provider: string;
  readonly payment: string;
  /** Of the payment and of the purchases linked to it, in order of receipt, each once. */
  readonly facts: readonly Fact[];
  /** How many facts were seen under each key; with more of them by now, this view is old. */
  readonly keys: ReadonlyMap<string, number>;
}

type Scope = Pick<Fact, "workspace" | "environment" | "provider">;

/**
 * Writes the facts that are not there yet and looks at all that is known of their payments.
 * @param shared other writers may have written meanwhile: look again after the write
 */
export async function writeThenLook(
  clickhouse: ClickHouse,
  batch: readonly Fact[],
  shared: boolean,
): Promise<KnownPayment[]> {
  const touched = batch.flatMap((fact) => subjects(fact.body).map((key) => ({ fact, key })));
  const before = new KnownRows(clickhouse);
  await before.load(touched);
  const missing = batch.filter((fact) => !before.has(fact));
  await insertFacts(clickhouse, missing);
  before.add(missing);
  const after = shared ? new KnownRows(clickhouse) : before;
  if (shared) await after.load(touched);
  // Two more looks reach everything: the payments of touched purchases, and the purchases of all
  // those payments.
  await after.load(after.links(({ payment }) => paymentKey(payment)));
  await after.load(after.links(({ purchase }) => purchaseKey(purchase)));
  return after.payments();
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

  has(fact: Fact): boolean {
    return subjects(fact.body).every((key) =>
      this.#rows.get(nameOf(fact, key))?.facts.some(({ fact_id }) => fact_id === fact.fact_id),
    );
  }

  /** What has just been written, under keys that are loaded. */
  add(facts: readonly Fact[]): void {
    for (const fact of facts) {
      for (const key of subjects(fact.body)) this.#rows.get(nameOf(fact, key))?.facts.push(fact);
    }
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
      const keys = new Map([[key, countOf(facts)]]);
      const all = new Map(facts.map((fact) => [fact.fact_id, fact]));
      for (const { body } of facts) {
        if (!("Link" in body)) continue;
        const purchase = purchaseKey(body.Link.purchase);
        const there = this.#rows.get(nameOf(scope, purchase))?.facts ?? [];
        keys.set(purchase, countOf(there));
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

/** A redelivery that raced may be there twice. */
function countOf(facts: readonly Fact[]): number {
  return new Set(facts.map(({ fact_id }) => fact_id)).size;
}

function nameOf({ workspace, environment, provider }: Scope, key: string): string {
  return JSON.stringify([workspace, environment, provider, key]);
}
