/**
 * What is known of a payment, fact by fact in order of receipt: of each purchase only the reading
 * that counts (`payment.ts`), so that the many others, a subscription's whole life reported to each
 * of its invoices, cost next to nothing. Pure.
 */
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { newestFirst } from "./readings.js";
import { type PurchaseBody, Shares } from "./invoice-allocation.js";

type LinkBody = Extract<FactBody, { Link: unknown }>["Link"];

export class Prefix {
  readonly #own: Fact[] = [];
  readonly #shares = new Shares();
  readonly #links = new Map<string, number | null>();
  readonly #readings = new Map<string, Fact[]>();
  readonly #counting = new Map<string, Fact>();
  readonly #counted = new Set<Fact>();

  /** @param payment the provider's id of it: links of others to its purchases may be among them */
  constructor(private readonly payment: string) {}

  /** From these follows all that follows from the facts added. */
  get facts(): Fact[] {
    return [...this.#own, ...this.#counting.values()];
  }

  /** Those that counted after any of the facts added: without the others all would be the same. */
  get counted(): ReadonlySet<Fact> {
    return this.#counted;
  }

  /** @returns whether it can change anything: what counted before does not count alone any more */
  add(fact: Fact): boolean {
    if ("Purchase" in fact.body) return this.#addReading(fact, fact.body.Purchase);
    if ("Link" in fact.body && !this.#addLink(fact.body.Link)) return false;
    this.#own.push(fact);
    this.#counted.add(fact);
    return true;
  }

  #addReading(fact: Fact, { purchase }: PurchaseBody): boolean {
    const readings = this.#readings.get(purchase);
    if (readings) readings.push(fact);
    else this.#readings.set(purchase, [fact]);
    const asOf = this.#links.get(purchase);
    if (asOf === undefined) return false;
    const counted = this.#counting.get(purchase);
    return this.#count(purchase, counted === undefined ? [fact] : [counted, fact], asOf);
  }

  /** A link that was reported before, though by another event, says nothing new. */
  #addLink(link: LinkBody): boolean {
    const changesShares = this.#shares.add(link);
    return (link.payment === this.payment && this.#addOwnLink(link)) || changesShares;
  }

  #addOwnLink(link: LinkBody): boolean {
    const { purchase } = link;
    const before = this.#links.get(purchase);
    const asOf = earlier(before ?? null, link.as_of ?? null);
    if (before === asOf) return false;
    this.#links.set(purchase, asOf);
    this.#count(purchase, this.#readings.get(purchase) ?? [], asOf);
    return true;
  }

  #count(purchase: string, readings: readonly Fact[], asOf: number | null): boolean {
    const counts = countingOf(readings, asOf);
    if (counts === undefined || counts === this.#counting.get(purchase)) return false;
    this.#counting.set(purchase, counts);
    this.#counted.add(counts);
    return true;
  }
}

/** The newest reading up to a moment; one that began to be reported later counts as it began. */
export function countingOf(readings: readonly Fact[], asOf: number | null): Fact | undefined {
  const newest = newestFirst(readings);
  return newest.find(({ happened_at: at }) => asOf === null || at <= asOf) ?? newest.at(-1);
}

/** Of several links to one purchase the earliest moment counts. */
export function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
