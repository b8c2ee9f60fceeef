/**
 * A batch's facts about money beside all that is known of the payments they touch. A payment's
 * purchases are found through its links, and a purchase's payments through its own.
 */
import { paymentKey, purchaseKey, tieOf } from "../../../schemas/ids.js";
import type { Fact } from "../../../schemas/records/records.js";
import { nameOf, subjects, byReceipt } from "../../normalize/facts.js";
import { withPurchases } from "../payment/invoice-allocation.js";
import { moneyFacts, type Lists } from "../lists.js";
import type { KnownPayment } from "./money-tables.js";

export interface KnownFacts {
  readonly payments: readonly KnownPayment[];
  /** The facts that one of `payments` had before. */
  readonly before: (payment: KnownPayment) => readonly Fact[];
  /** Facts of the batch that were not known, as they are to be stored. */
  readonly missing: readonly Fact[];
  /** Those that were known by the same receipt. */
  readonly again: readonly Fact[];
}

type Scope = Pick<Fact, "workspace" | "environment" | "provider">;

interface Key {
  readonly scope: Scope;
  readonly key: string;
}

export async function addFacts(lists: Lists, batch: readonly Fact[]): Promise<KnownFacts> {
  const known = new Known(lists);
  await known.load(
    batch.flatMap((fact) => subjects(fact.body).map((key) => ({ scope: fact, key }))),
  );
  const missing = known.missing(batch);
  const again = batch.filter((fact) => known.hasReceipt(fact));
  known.add(missing);
  // Two more looks reach everything: the payments of the touched purchases, and the purchases of
  // all those payments.
  await known.load(known.ties(({ payment }) => paymentKey(payment)));
  await known.load(known.ties(({ purchase }) => purchaseKey(purchase)));
  const unseen = new Set(missing.map(({ fact_id }) => fact_id));
  return {
    payments: known.payments(),
    before: (payment) => known.without(unseen, payment),
    missing,
    again,
  };
}

class Known {
  readonly #keys = new Map<string, Key>();

  constructor(private readonly lists: Lists) {}

  async load(wanted: readonly Key[]): Promise<void> {
    const names = new Map(wanted.map((key) => [nameOf(key.scope, key.key), key]));
    await this.lists.load(moneyFacts, names.keys());
    for (const [name, key] of names) this.#keys.set(name, key);
  }

  /** The same facts wherever one batch ends and the next begins. */
  missing(batch: readonly Fact[]): Fact[] {
    /** By payment: of the readings so far the one received first. */
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
    const readings = this.#of(name).filter(({ body }) => "Payment" in body);
    return readings.toSorted(byReceipt)[0];
  }

  #has(fact: Fact): boolean {
    return subjects(fact.body).every((key) =>
      this.#of(nameOf(fact, key)).some(({ fact_id }) => fact_id === fact.fact_id),
    );
  }

  hasReceipt(fact: Fact): boolean {
    return subjects(fact.body).some((key) =>
      this.#of(nameOf(fact, key)).some((known) => isSameDelivery(known, fact)),
    );
  }

  add(facts: readonly Fact[]): void {
    for (const fact of facts) {
      for (const key of subjects(fact.body)) {
        const name = nameOf(fact, key);
        const isThere = this.#of(name).some(({ fact_id }) => fact_id === fact.fact_id);
        if (!isThere) this.lists.add(moneyFacts, name, [fact]);
      }
    }
  }

  ties(end: (link: { payment: string; purchase: string }) => string): Key[] {
    return [...this.#keys].flatMap(([name, { scope }]) =>
      this.#of(name).flatMap(({ body }) => {
        const tie = tieOf(body);
        return tie === null ? [] : [{ scope, key: end(tie) }];
      }),
    );
  }

  payments(): KnownPayment[] {
    return [...this.#keys].flatMap(([name, { scope, key }]) => {
      const own = this.#of(name);
      if (!key.startsWith(paymentKey("")) || own.length === 0) return [];
      const keys = new Map([[key, own.length]]);
      const facts = withPurchases(own, (purchase) => {
        const there = this.#of(nameOf(scope, purchaseKey(purchase)));
        keys.set(purchaseKey(purchase), there.length);
        return there;
      });
      const { workspace, environment, provider } = scope;
      const payment = key.slice(paymentKey("").length);
      return [{ workspace, environment, provider, payment, keys, facts }];
    });
  }

  /** What was known of a payment without these facts. */
  without(unseen: ReadonlySet<string>, payment: KnownPayment): Fact[] {
    const seen = (key: string): Fact[] =>
      this.#of(nameOf(payment, key)).filter(({ fact_id: id }) => !unseen.has(id));
    return withPurchases(seen(paymentKey(payment.payment)), (purchase) =>
      seen(purchaseKey(purchase)),
    );
  }

  #of(name: string): readonly Fact[] {
    return this.#keys.has(name) ? this.lists.of(moneyFacts, name) : [];
  }
}

/** A replay has the receipt of what it repeats, or says so. */
export function isSameDelivery(known: Fact, fact: Fact): boolean {
  if (known.fact_id !== fact.fact_id) return false;
  return fact.replay || known.received_at === fact.received_at;
}

/**
 * Two deliveries of one event may share a batch, the later one first, if two processes accepted it.
 * The first on the topic counts, as it would in a batch of its own.
 */
function firstOnTopic(facts: readonly Fact[]): Fact[] {
  const seen = new Set<string>();
  return facts.filter(({ fact_id: id }) => !seen.has(id) && seen.add(id));
}

/**
 * A transaction keeps the time and rate of its first report. A reading that was received earlier
 * but booked later (from another process or partition) would become the first by receipt, so it
 * takes these over; otherwise its rows would lie at two places.
 */
function datedBy(first: Fact, fact: Fact): Fact {
  if (!("Payment" in first.body) || !("Payment" in fact.body)) return fact;
  if (byReceipt(first, fact) < 0) return fact;
  const { at, currency } = first.body.Payment;
  const quote = fact.body.Payment.currency === currency ? first.quote : fact.quote;
  return { ...fact, quote, body: { Payment: { ...fact.body.Payment, at } } };
}
