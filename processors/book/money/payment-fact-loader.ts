/**
 * Writes a batch's facts, then loads all facts of the payments it touches. A payment's purchases
 * are found through its links, and a purchase's payments through its own, so the second of two
 * writers sees both sides.
 */
import { matching } from "../../../clickhouse/rows.js";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import { paymentKey, purchaseKey, tieOf } from "../../../schemas/money-keys.js";
import { type Fact, factCodec } from "../../../schemas/records/records.js";
import { nameOf, subjects } from "../../normalize/facts.js";
import { insertFacts, type KnownPayment } from "./money-tables.js";
import { byReceipt } from "../payment/readings.js";
import { withPurchases } from "../payment/invoice-allocation.js";
import type { KnownKeys } from "./known-keys.js";

/** What is known with a batch of a sole writer, and what was known (and is booked) before it. */
export interface Look {
  readonly payments: readonly KnownPayment[];
  /** The facts that one of `payments` had. */
  readonly before: (payment: KnownPayment) => readonly Fact[];
  /** Facts of the batch that are not stored yet. */
  readonly missing: readonly Fact[];
  /** Keeps what is known now: to be called when nothing can fail any more but the write. */
  readonly remember: () => void;
}

type Scope = Pick<Fact, "workspace" | "environment" | "provider">;

/**
 * Writes the facts that are not there yet and looks at all that is known of their payments.
 * @param shared other processes may have written meanwhile: load again after the write
 */
export async function writeThenLook(
  clickhouse: ClickHouse,
  batch: readonly Fact[],
  shared: boolean,
): Promise<KnownPayment[]> {
  const touched = keysOf(batch);
  const before = new KnownRows(clickhouse, null);
  await before.load(touched);
  const missing = before.missing(batch);
  await insertFacts(clickhouse, missing, shared);
  before.add(missing);
  const after = shared ? new KnownRows(clickhouse, null) : before;
  if (shared) await after.load(touched);
  await after.follow();
  return after.payments();
}

/** The same for a sole writer, who knows all there is to know before anything is written. */
export async function lookFirst(
  clickhouse: Pick<ClickHouse, "rows">,
  batch: readonly Fact[],
  known: KnownKeys,
): Promise<Look> {
  const rows = new KnownRows(clickhouse, known);
  await rows.load(keysOf(batch));
  const missing = rows.missing(batch);
  rows.add(missing);
  await rows.follow();
  const unseen = new Set(missing.map(({ fact_id }) => fact_id));
  return {
    payments: rows.payments(),
    before: (payment) => rows.without(unseen, payment),
    missing,
    remember: () => rows.remember(missing),
  };
}

/**
 * Deliveries of one event may share a batch, the later one first, if two processes accepted it. The
 * first on the topic counts, as it would in a batch of its own.
 */
function firstOnTopic(facts: readonly Fact[]): Fact[] {
  const seen = new Set<string>();
  return facts.filter(({ fact_id: id }) => !seen.has(id) && seen.add(id));
}

/** What `KnownKeys` calls the keys of the batch. */
export function namesOf(batch: readonly Fact[]): string[] {
  return keysOf(batch).map(({ fact, key }) => nameOf(fact, key));
}

function keysOf(batch: readonly Fact[]): { fact: Fact; key: string }[] {
  return batch.flatMap((fact) => subjects(fact.body).map((key) => ({ fact, key })));
}

class KnownRows {
  readonly #rows = new Map<string, { scope: Scope; key: string; facts: Fact[] }>();

  constructor(
    private readonly clickhouse: Pick<ClickHouse, "rows">,
    private readonly known: KnownKeys | null,
  ) {}

  async load(wanted: readonly { fact: Scope; key: string }[]): Promise<void> {
    const missing = new Map<string, { scope: Scope; key: string; facts: Fact[] }>();
    for (const { fact, key } of wanted) {
      const name = nameOf(fact, key);
      if (this.#rows.has(name)) continue;
      const known = this.known?.get(name);
      const entry = { scope: fact, key, facts: [...(known ?? [])] };
      if (known) this.#rows.set(name, entry);
      else missing.set(name, entry);
    }
    if (missing.size === 0) return;
    const keys = Array.from(missing.values(), ({ scope, key }) => {
      const { workspace, environment, provider } = scope;
      return { workspace, environment, provider, key };
    });
    const rows = await this.clickhouse.rows<{ key: string; fact: string }>(
      `SELECT key, fact FROM money_facts
       WHERE ${matching(keys, "workspace", "environment", "provider", "key")}
       ORDER BY received_at`,
    );
    for (const row of rows) {
      const fact = factCodec.fromText(row.fact);
      const facts = missing.get(nameOf(fact, row.key))?.facts ?? [];
      // Deliveries that raced may both be there: the first received counts.
      if (!facts.some(({ fact_id }) => fact_id === fact.fact_id)) facts.push(fact);
    }
    for (const [name, entry] of missing) this.#rows.set(name, entry);
  }

  /**
   * Two more looks reach everything: the payments of touched purchases, and the purchases of all
   * those payments.
   */
  async follow(): Promise<void> {
    await this.load(this.#ties(({ payment }) => paymentKey(payment)));
    await this.load(this.#ties(({ purchase }) => purchaseKey(purchase)));
  }

  /** @param missing not written yet */
  remember(missing: readonly Fact[]): void {
    const unwritten = new Set(namesOf(missing));
    for (const [name, { facts }] of this.#rows) {
      this.known?.keep(name, facts, !unwritten.has(name));
    }
  }

  /**
   * Facts of the batch that are not known, as they are to be stored: the same wherever on the topic
   * one batch ends and the next begins, so that a crash changes nothing.
   */
  missing(batch: readonly Fact[]): Fact[] {
    /** By payment, of the readings met until now the one received first. */
    const firsts = new Map<string, Fact | undefined>();
    return firstOnTopic(batch.filter((fact) => !this.#has(fact))).map((fact) => {
      if (!("Payment" in fact.body)) return fact;
      const name = nameOf(fact, paymentKey(fact.body.Payment.payment));
      const first = firsts.has(name) ? firsts.get(name) : this.#firstReading(name);
      const dated = first === undefined ? fact : datedBy(first, fact);
      firsts.set(name, first === undefined || byReceipt(dated, first) < 0 ? dated : first);
      return dated;
    });
  }

  #firstReading(name: string): Fact | undefined {
    const reported = this.#rows.get(name)?.facts ?? [];
    return reported.filter(({ body }) => "Payment" in body).toSorted(byReceipt)[0];
  }

  #has(fact: Fact): boolean {
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

  /** The keys at one end of all ties seen so far. */
  #ties(
    end: (link: { payment: string; purchase: string }) => string,
  ): { fact: Scope; key: string }[] {
    return [...this.#rows.values()].flatMap(({ facts }) =>
      facts.flatMap((fact) => {
        const tie = tieOf(fact.body);
        return tie === null ? [] : [{ fact, key: end(tie) }];
      }),
    );
  }

  payments(): KnownPayment[] {
    return [...this.#rows.values()].flatMap(({ scope, key, facts: own }) => {
      const payment = key.startsWith(paymentKey("")) ? key.slice(paymentKey("").length) : null;
      if (payment === null || own.length === 0) return [];
      const keys = new Map([[key, countOf(own)]]);
      const facts = withPurchases(own, (purchase) => {
        const there = this.#factsUnder(scope, purchaseKey(purchase));
        keys.set(purchaseKey(purchase), countOf(there));
        return there;
      });
      const { workspace, environment, provider } = scope;
      return [{ workspace, environment, provider, payment, keys, facts }];
    });
  }

  /** What was known of a payment before the facts with these ids came. */
  without(unseen: ReadonlySet<string>, payment: KnownPayment): Fact[] {
    const seen = (key: string): Fact[] =>
      this.#factsUnder(payment, key).filter(({ fact_id: id }) => !unseen.has(id));
    return withPurchases(seen(paymentKey(payment.payment)), (purchase) =>
      seen(purchaseKey(purchase)),
    );
  }

  #factsUnder(scope: Scope, key: string): readonly Fact[] {
    return this.#rows.get(nameOf(scope, key))?.facts ?? [];
  }
}

/**
 * A transaction keeps the time it was reported with first, and the rate. A reading that was
 * received before that one and comes to booking after it (from another process or partition) would
 * be the first by receipt, so it takes both on; else its rows would lie at two places.
 */
function datedBy(first: Fact, fact: Fact): Fact {
  if (!("Payment" in first.body) || !("Payment" in fact.body)) return fact;
  if (byReceipt(first, fact) < 0) return fact;
  const { at, currency } = first.body.Payment;
  const quote = fact.body.Payment.currency === currency ? first.quote : fact.quote;
  return { ...fact, quote, body: { Payment: { ...fact.body.Payment, at } } };
}

/** A redelivery that raced may be there twice. */
function countOf(facts: readonly Fact[]): number {
  return new Set(facts.map(({ fact_id }) => fact_id)).size;
}
