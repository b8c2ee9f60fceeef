/**
 * Which part of a purchase each of its payments paid. Several payments cover an invoice in order of
 * time, and each gets the difference of two running totals of its tax and lines. So the shares add
 * up to the invoice, and a later payment changes no earlier one (docs/decisions/payments.md). Pure.
 */
import { limits } from "../../../config.js";
import { grouped } from "../../../runtime/grouped.js";
import { tieOf } from "../../../schemas/money-keys.js";
import { divideRounded } from "../../../schemas/money/decimal.js";
import { splitByWeight } from "../../../schemas/money/money.js";
import type { BodyOf, Fact, Line } from "../../../schemas/records/records.js";
import { byReceipt } from "./readings.js";

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
