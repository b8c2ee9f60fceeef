/**
 * What is known of a payment, fact by fact in order of receipt. Of each purchase only the reading
 * that counts is kept, because a subscription's whole life may be reported to each of its invoices.
 * Pure.
 */
import type { BodyOf, Fact } from "../../../schemas/records/records.js";
import { byNewest } from "./readings.js";
import { type PurchaseBody, Shares } from "./invoice-allocation.js";

export class Prefix {
  /** All but purchases, and links that say nothing new. */
  readonly own: Fact[] = [];
  /** The facts that counted at any point: without the others the result would be the same. */
  readonly counted = new Set<Fact>();
  readonly shares = new Shares();
  /** The moment whose reading counts, by linked purchase; null: the newest. */
  readonly #links = new Map<string, number | null>();
  readonly #readings = new Map<string, Fact[]>();
  readonly #counting = new Map<string, Fact>();

  /**
   * @param payment the provider's id of it
   * @param facts of the payment and of its purchases; links of other payments may be among them
   */
  constructor(
    readonly payment: string,
    facts: readonly Fact[] = [],
  ) {
    for (const fact of facts) this.add(fact);
  }

  /** One reading of each linked purchase; those that name products come first. */
  get purchases(): PurchaseBody[] {
    return [...this.#counting.values()]
      .flatMap(({ body }) => ("Purchase" in body ? [body.Purchase] : []))
      .sort((one, other) => (one.purchase < other.purchase ? -1 : 1))
      .sort((one, other) => other.lines.length - one.lines.length);
  }

  /** @returns whether the fact can change anything */
  add(fact: Fact): boolean {
    if ("Purchase" in fact.body) return this.#addReading(fact, fact.body.Purchase);
    if ("Link" in fact.body && !this.#addLink(fact.body.Link)) return false;
    this.own.push(fact);
    this.counted.add(fact);
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

  /** A link that another event reported before says nothing new. */
  #addLink(link: BodyOf<"Link">): boolean {
    const changesShares = this.shares.add(link);
    return (link.payment === this.payment && this.#addOwnLink(link)) || changesShares;
  }

  #addOwnLink({ purchase, as_of: asOf = null }: BodyOf<"Link">): boolean {
    const before = this.#links.get(purchase);
    const earliest = typeof before === "number" ? Math.min(before, asOf ?? before) : asOf;
    if (before === earliest) return false;
    this.#links.set(purchase, earliest);
    this.#count(purchase, this.#readings.get(purchase) ?? [], earliest);
    return true;
  }

  /**
   * The newest reading up to a moment; if the purchase was reported only later, its first reading.
   */
  #count(purchase: string, readings: readonly Fact[], asOf: number | null): boolean {
    const newest = readings.toSorted(byNewest);
    const counts =
      newest.find(({ happened_at: at }) => asOf === null || at <= asOf) ?? newest.at(-1);
    if (counts === undefined || counts === this.#counting.get(purchase)) return false;
    this.#counting.set(purchase, counts);
    this.counted.add(counts);
    return true;
  }
}
