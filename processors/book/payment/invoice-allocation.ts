/**
 * Which part of a purchase each of its payments paid. Several payments cover an invoice in order of
 * time, and each gets the difference of two running totals of its tax and lines. So the shares add
 * up to the invoice, and a later payment changes no earlier one (docs/decisions/payments.md). Pure.
 */
import { limits } from "../../../config.js";
import { grouped } from "../../../runtime/lists.js";
import { tieOf } from "../../../schemas/ids.js";
import { divideRounded, splitByWeight } from "../../../schemas/money/money.js";
import type { BodyOf, Fact, Line } from "../../../schemas/records/records.js";
import { byReceipt, byNewest } from "../../normalize/facts.js";

export type PurchaseBody = BodyOf<"Purchase">;

/** What was paid of a purchase before this payment and with it, in minor units of the purchase. */
interface Share {
  readonly before: bigint;
  readonly after: bigint;
}

interface PaymentShare extends Share {
  readonly payment: string;
}

interface Part {
  readonly payment: string;
  /** Empty: all that the payment paid. */
  readonly record: string;
  readonly amount: bigint;
  readonly at: number;
}

/** The parts that links report, of a payment and of others that paid the same purchases. */
export class Shares {
  /** By purchase, then by payment and record. */
  readonly #parts = new Map<string, Map<string, Part>>();

  /**
   * Of several readings of one part the greatest amount and the earliest time count, so their order
   * does not matter.
   * @returns whether the link says anything new
   */
  add({ payment, purchase, part }: BodyOf<"Link">): boolean {
    if (!part || part.amount <= 0n) return false;
    const parts = this.#parts.get(purchase) ?? new Map<string, Part>();
    const { record = "" } = part;
    const key = JSON.stringify([payment, record]);
    const before = parts.get(key);
    if (before === undefined && parts.size >= limits.paymentsPerPurchaseMax) return false;
    const amount = before && before.amount > part.amount ? before.amount : part.amount;
    const at = before && before.at < part.at ? before.at : part.at;
    if (before?.amount === amount && before.at === at) return false;
    parts.set(key, { payment, record, amount, at });
    this.#parts.set(purchase, parts);
    return true;
  }

  /** Null: nobody reported how much of the purchase the payment paid. */
  of(payment: string, purchase: string): Share | null {
    return this.all(purchase).find((share) => share.payment === payment) ?? null;
  }

  /** In order of time. */
  all(purchase: string): readonly PaymentShare[] {
    const parts = partsOfPayments(this.#parts.get(purchase)?.values() ?? []).sort(inOrder);
    let before = 0n;
    return parts.map(({ payment, amount }) => {
      const share = { payment, before, after: before + amount };
      before = share.after;
      return share;
    });
  }
}

/** One part for each payment, its records together. */
function partsOfPayments(reported: Iterable<Part>): Part[] {
  return Array.from(
    grouped(reported, ({ payment }) => payment),
    ([payment, parts]) => {
      const at = Math.min(...parts.map((part) => part.at));
      return { payment, record: "", amount: addedUp(parts), at };
    },
  );
}

/**
 * A payment from outside a provider, reported in records (docs/decisions/payments.md): a record of
 * the whole amount counts alone; otherwise the records add up.
 * @param reported readings of one payment, for each thing the one that counts first; minor units
 */
export function addedUp(
  reported: readonly { readonly record?: string; readonly amount: bigint }[],
): bigint {
  const whole = reported.find(({ record = "" }) => record === "");
  if (whole !== undefined) return whole.amount;
  const records = [...grouped(reported, ({ record }) => record).values()];
  return records.reduce((sum, [first]) => sum + (first?.amount ?? 0n), 0n);
}

/** Joins lines of one SKU. Without lines there is one without a name. */
export function bySku(lines: readonly Line[]): Line[] {
  const weights = new Map<string, bigint>();
  for (const { external_id, weight } of lines) {
    weights.set(external_id, (weights.get(external_id) ?? 0n) + weight);
  }
  if (weights.size === 0) weights.set("", 1n);
  return [...weights].map(([external_id, weight]) => ({ external_id, weight }));
}

/**
 * All that is known of a payment, in order of receipt, each fact once.
 * @param own its facts
 * @param factsOf those of a purchase
 */
export function withPurchases(
  own: readonly Fact[],
  factsOf: (purchase: string) => readonly Fact[],
): Fact[] {
  const known = new Map(own.map((fact) => [fact.fact_id, fact]));
  for (const { body } of own) {
    const tie = tieOf(body);
    const purchased = tie === null ? [] : factsOf(tie.purchase);
    for (const fact of purchased) if (isOfPurchase(fact)) known.set(fact.fact_id, fact);
  }
  return [...known.values()].sort(byReceipt);
}

function isOfPurchase({ body }: Fact): boolean {
  if ("Link" in body) return (body.Link.part ?? null) !== null;
  return "Purchase" in body || ("Refund" in body && (body.Refund.purchase ?? null) !== null);
}

/**
 * What the purchases say of one payment. A purchase that it paid whole, or of which nobody says how
 * much was paid, counts whole.
 */
export function sharedOut(
  payment: string,
  purchases: readonly PurchaseBody[],
  shares: Shares,
): PurchaseBody[] {
  const rest: PurchaseBody[] = [];
  const parts: PurchaseBody[] = [];
  for (const purchase of purchases) {
    const share = (purchase.total ?? 0n) > 0n ? shares.of(payment, purchase.purchase) : null;
    if (share === null) rest.push(purchase);
    else parts.push(partOf(purchase, share, purchases.length > 1));
  }
  const [first, ...others] = parts;
  if (first === undefined) return rest;
  return [others.length === 0 ? first : joined(first, others), ...rest];
}

/** @param isOneOfSeveral its lines must be weighed against those of other purchases */
function partOf(purchase: PurchaseBody, share: Share, isOneOfSeveral: boolean): PurchaseBody {
  const { total, tax, lines } = purchase;
  const whole = total ?? 0n;
  const taxUpTo = (paid: bigint): bigint =>
    divideRounded((tax ?? 0n) * (paid < whole ? paid : whole), whole);
  return {
    ...purchase,
    tax: tax === null ? null : taxUpTo(share.after) - taxUpTo(share.before),
    // The first part is split like a whole payment.
    lines: share.before === 0n && !isOneOfSeveral ? lines : linesOf(lines, share),
  };
}

function linesOf(lines: PurchaseBody["lines"], { before, after }: Share): PurchaseBody["lines"] {
  if (lines.length === 0) return lines;
  const all = bySku(lines);
  const weights = all.map(({ weight }) => weight);
  const [from, to] = [splitByWeight(before, weights), splitByWeight(after, weights)];
  return all.map(({ external_id }, index) => ({
    external_id,
    weight: (to[index] ?? 0n) - (from[index] ?? 0n),
  }));
}

function joined(first: PurchaseBody, others: readonly PurchaseBody[]): PurchaseBody {
  const all = [first, ...others];
  const taxes = all.flatMap(({ tax }) => (tax === null ? [] : [tax]));
  const reported = <T>(read: (purchase: PurchaseBody) => T | null): T | null =>
    all.map(read).find((value) => value !== null) ?? null;
  return {
    ...first,
    account: reported(({ account }) => account),
    country: reported(({ country }) => country),
    type: all.some(({ type }) => type === "subscription") ? "subscription" : first.type,
    tax: taxes.length === 0 ? null : taxes.reduce((sum, tax) => sum + tax, 0n),
    lines: all.flatMap(({ lines }) => lines),
  };
}

function inOrder(one: Part, other: Part): number {
  return one.at - other.at || (one.payment < other.payment ? -1 : 1);
}

/**
 * What is known of a payment, fact by fact in order of receipt. Of each purchase only the reading
 * that counts is kept, because a subscription's whole life may be reported to each of its invoices.
 * Pure.
 */
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
