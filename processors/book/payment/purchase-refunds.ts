/**
 * Refunds that name what was bought but not the payment: money returned outside Stripe for an
 * invoice. They cover the purchase one after another, as its payments do, and each payment gives
 * back what of its own part is covered (docs/decisions/refunds-and-disputes.md). Pure.
 */
import { grouped } from "../../../runtime/grouped.js";
import { divideRounded } from "../../../schemas/money/decimal.js";
import type { BodyOf, Fact } from "../../../schemas/records/records.js";
import { byNewest, readingsOf, refundIn } from "./readings.js";
import type { Shares } from "./invoice-allocation.js";

/** The facts, with such refunds reduced to what this payment gives back. */
export function withOwnRefunds(
  payment: string,
  facts: readonly Fact[],
  shares: Shares,
): readonly Fact[] {
  if (!facts.some(({ body }) => "Refund" in body && isOfPurchase(body.Refund))) return facts;
  const own = new Map<string, OwnPart>();
  for (const [purchase, refunds] of refundsOfPurchases(facts)) {
    for (const part of ownParts(payment, purchase, refunds, shares)) own.set(part.refund, part);
  }
  return facts.flatMap((fact) => {
    if (!("Refund" in fact.body)) return [fact];
    const part = own.get(fact.body.Refund.refund);
    if (part === undefined) return [fact];
    const { amount, tax } = part;
    return amount === 0n
      ? []
      : [{ ...fact, body: { Refund: { ...fact.body.Refund, amount, tax } } }];
  });
}

/** One refund of a purchase as a whole: minor units, by its newest reading. */
interface WholeRefund {
  readonly refund: string;
  readonly purchase: string;
  /** A payment named after the purchase, which has the refund while no other payment is known. */
  readonly payment: string | null;
  readonly at: number;
  readonly amount: bigint;
  readonly tax: bigint | null;
  readonly hasFailed: boolean;
}

type OwnPart = Pick<WholeRefund, "refund" | "amount" | "tax">;

/** By purchase, in order of time. An earlier reading may name no purchase. */
function refundsOfPurchases(facts: readonly Fact[]): Map<string, WholeRefund[]> {
  const newestFirst = facts.filter(({ body }) => "Refund" in body).sort(byNewest);
  const bodies = readingsOf(newestFirst, refundIn).map(({ body }) => body);
  const whole = [...grouped(bodies, ({ refund }) => refund).values()].flatMap(wholeRefund);
  return grouped(whole.sort(inOrder), ({ purchase }) => purchase);
}

function wholeRefund(reported: readonly BodyOf<"Refund">[]): WholeRefund[] {
  const [newest] = reported;
  const purchase = reported.find(isOfPurchase)?.purchase ?? null;
  if (newest === undefined || purchase === null) return [];
  const { refund, payment, amount, tax = null } = newest;
  const at = Math.min(...reported.map((reading) => reading.at));
  const hasFailed = reported.some(({ failed_at: failedAt }) => failedAt !== null);
  return [{ refund, purchase, payment, at, amount, tax, hasFailed }];
}

function ownParts(
  payment: string,
  purchase: string,
  refunds: readonly WholeRefund[],
  shares: Shares,
): OwnPart[] {
  const all = shares.all(purchase);
  const share = all.find((one) => one.payment === payment);
  // What exceeds all that was paid belongs to the last payment.
  const isLast = share !== undefined && share === all.at(-1);
  let covered = 0n;
  return refunds.map((whole) => {
    const from = covered;
    const to = from + whole.amount;
    // A failed refund covers nothing: the next begins where it began.
    if (!whole.hasFailed) covered = to;
    if (all.length === 0) {
      const isOwn = whole.payment === payment;
      return isOwn ? whole : { refund: whole.refund, amount: 0n, tax: null };
    }
    const begin = share === undefined ? to : within(share.before, from, to);
    const end = share === undefined ? to : isLast ? to : within(share.after, from, to);
    return partOf(whole, begin - from, end - from);
  });
}

/** @param begin and `end`: the part of the refund, in its minor units */
function partOf({ refund, amount, tax }: WholeRefund, begin: bigint, end: bigint): OwnPart {
  const taxUpTo = (paid: bigint): bigint =>
    tax === null || amount === 0n ? 0n : divideRounded(tax * paid, amount);
  return {
    refund,
    amount: end - begin,
    tax: tax === null ? null : taxUpTo(end) - taxUpTo(begin),
  };
}

function within(place: bigint, from: bigint, to: bigint): bigint {
  if (place < from) return from;
  return place > to ? to : place;
}

function isOfPurchase({ purchase = null }: BodyOf<"Refund">): boolean {
  return purchase !== null;
}

function inOrder(one: WholeRefund, other: WholeRefund): number {
  return one.at - other.at || (one.refund < other.refund ? -1 : 1);
}
