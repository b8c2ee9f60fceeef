/**
 * Compares what a provider lists of one month with what is booked: pairs of payments and of
 * disputes' money, then a row with a reason for each pair that differs. Pure. It yields in between.
 */
import { limits } from "../../config.js";
import type { ListedPayment, Span } from "../../providers/backfill.js";
import { grouped, inTurns } from "../../runtime/lists.js";
import { knownExponentOf, toJsonMinor } from "../../schemas/money/money.js";
import {
  type Difference,
  type DifferenceKind,
  type DifferenceReason,
  type MonthReport,
  type Side,
  scorePct,
} from "../../schemas/reconciliation.js";
import { unpaidAfterMs } from "../../workspaces/unpaid-purchases.js";

/** The newest version of a transaction, or ledger entries of a dispute; minor units. */
export interface BookedPayment extends ListedPayment {
  /** Of a dispute: the id its payment has once it is booked. */
  readonly transaction: string;
  /** The event that caused it. */
  readonly event: string;
  /** When that event was received, ms since 1970. */
  readonly recordedAt: number;
  /** Returned money without a known sale. */
  readonly isRefundAlone: boolean;
}

/** At least one of them is there. */
export interface Pair {
  readonly listed: ListedPayment | null;
  readonly booked: BookedPayment | null;
}

export interface Evidence {
  /** When the first page of the list was asked for, ms since 1970. */
  readonly listedSince: number;
  /** When the integration's first webhook call was taken; null: none came. */
  readonly webhooksSince: number | null;
  readonly read: readonly Span[];
  /** The outcome of events that were not booked, by the payment or dispute they name. */
  readonly unbooked: ReadonlyMap<string, "rejected" | "mirrored">;
  /** Whether the provider's list can have a payment of this name. */
  readonly canBeListed: (payment: string) => boolean;
  /** Of disputed payments, those that are booked. */
  readonly transactions: ReadonlyMap<string, string>;
}

/**
 * By the provider's id of the payment: what both sides have, or either has in the month.
 * @param month ms since 1970; the end is exclusive
 */
export async function pairsOf(
  listed: Iterable<ListedPayment>,
  booked: Iterable<BookedPayment>,
  month: Span,
): Promise<Pair[]> {
  const isWithin = ({ at }: ListedPayment): boolean => at >= month.from && at < month.to;
  const pairs = new Map<string, Pair>();
  await inTurns(listed, (one) => {
    if (isWithin(one)) pairs.set(one.payment, { listed: one, booked: null });
  });
  await inTurns(booked, (one) => {
    const partner = pairs.get(one.payment)?.listed ?? null;
    if (partner !== null || isWithin(one)) {
      pairs.set(one.payment, { listed: partner, booked: one });
    }
  });
  return [...pairs.values()];
}

export function agrees({ listed, booked }: Pair): boolean {
  return (
    listed !== null &&
    booked !== null &&
    listed.currency === booked.currency &&
    listed.amount === booked.amount &&
    listed.refunded === booked.refunded
  );
}

export async function monthReport(
  pairs: readonly Pair[],
  evidence: Evidence,
): Promise<
  Omit<MonthReport, "costs" | "cost_differences" | "own_figures" | "own_figures_problem">
> {
  const rows: Difference[] = [];
  const totals = new Map<string, Totals>();
  const totalsOf = ({ currency }: ListedPayment): Totals => {
    const known = totals.get(currency) ?? new Totals();
    totals.set(currency, known);
    return known;
  };
  await inTurns(pairs, (pair) => {
    const { listed, booked } = pair;
    if (listed !== null) totalsOf(listed).listed.add(listed);
    if (booked !== null) totalsOf(booked).booked.add(booked);
    const reason = agrees(pair) ? null : reasonOf(pair, evidence);
    if (reason !== null) rows.push(differenceOf(pair, reason, evidence));
    if (reason !== null && uncounted.has(reason)) return;
    if (listed !== null && listed.currency === booked?.currency) {
      totalsOf(listed).compare(listed, booked);
      return;
    }
    // In two currencies nothing agrees.
    for (const one of [listed, booked]) if (one !== null) totalsOf(one).compare(one, nothing);
  });
  const nameOf = ({ payment, dispute }: Difference): string => `${payment} ${dispute ?? ""}`;
  rows.sort((one, other) => sizeOf(other) - sizeOf(one) || (nameOf(one) < nameOf(other) ? -1 : 1));
  const byReason = grouped(rows, ({ reason }) => reason);
  const byKind = grouped(rows, kindOf);
  const sorted = [...totals].sort(([one], [other]) => (one < other ? -1 : 1));
  const sum = (name: "agreed" | "compared"): bigint =>
    sorted.reduce((all, [, { [name]: more }]) => all + more, 0n);
  return {
    ...scoreView(sum("agreed"), sum("compared")),
    currencies: sorted.map(([currency, { listed, booked, agreed, compared }]) => ({
      currency,
      exponent: knownExponentOf(currency),
      listed: listed.view(),
      booked: booked.view(),
      ...scoreView(agreed, compared),
    })),
    differences_total: rows.length,
    reasons: Object.fromEntries(Array.from(byReason, ([reason, of]) => [reason, of.length])),
    kinds: Object.fromEntries(Array.from(byKind, ([kind, of]) => [kind, of.length])),
    differences: rows.slice(0, limits.differencesPerMonthMax),
    left_out: Math.max(0, rows.length - limits.differencesPerMonthMax),
  };
}

/** What cannot be compared yet, or never can, counts neither for nor against the score. */
const uncounted: ReadonlySet<DifferenceReason> = new Set(["told_later", "not_listed"]);

function reasonOf({ listed, booked }: Pair, evidence: Evidence): DifferenceReason {
  const { listedSince, unbooked, canBeListed } = evidence;
  const isNewer = booked !== null && booked.recordedAt >= listedSince;
  if (listed === null) {
    if (booked?.isRefundAlone === true || !canBeListed(booked?.payment ?? "")) return "not_listed";
    return isNewer ? "told_later" : "not_at_provider";
  }
  if (booked !== null && listed.currency !== booked.currency) return "other_currency";
  if (isNewer) return "told_later";
  const became = unbooked.get(listed.dispute ?? listed.payment);
  if (became !== undefined) return became;
  if (booked !== null) return "amount_differs";
  // Its event may be on its way.
  if (listed.at > listedSince - unpaidAfterMs) return "told_later";
  return isBeforeConnection(listed, evidence) ? "before_connection" : "not_told";
}

function isBeforeConnection({ at }: ListedPayment, { webhooksSince, read }: Evidence): boolean {
  if (webhooksSince !== null && at >= webhooksSince) return false;
  return !read.some(({ from, to }) => at >= from && at <= to);
}

function differenceOf(
  { listed, booked }: Pair,
  reason: DifferenceReason,
  { transactions }: Evidence,
): Difference {
  const one = listed ?? booked;
  const { payment = "", dispute = null } = one ?? {};
  return {
    payment,
    dispute,
    transaction: (dispute === null ? booked?.transaction : transactions.get(payment)) ?? null,
    at: new Date(one?.at ?? 0).toISOString(),
    reason,
    listed: sideOf(listed),
    booked: sideOf(booked),
  };
}

function kindOf({ dispute, listed, booked }: Difference): DifferenceKind {
  if (dispute !== null) return "dispute";
  const isPaidAlike =
    listed !== null &&
    listed.currency === booked?.currency &&
    listed.amount_minor === booked.amount_minor;
  return isPaidAlike ? "refund" : "payment";
}

function sideOf(payment: ListedPayment | null): Side | null {
  if (payment === null) return null;
  const { currency, amount, refunded } = payment;
  return { currency, amount_minor: toJsonMinor(amount), refunded_minor: toJsonMinor(refunded) };
}

/** Minor units that the sides do not share. */
function sizeOf({ listed, booked }: Difference): number {
  const all = (one: Side | null) => (one === null ? 0 : one.amount_minor + one.refunded_minor);
  if (listed?.currency !== booked?.currency) return all(listed) + all(booked);
  const apart = (name: "amount_minor" | "refunded_minor") =>
    Math.abs((listed?.[name] ?? 0) - (booked?.[name] ?? 0));
  return apart("amount_minor") + apart("refunded_minor");
}

type Money = Pick<ListedPayment, "amount" | "refunded" | "dispute">;
const nothing: Money = { amount: 0n, refunded: 0n };

class Totals {
  readonly listed = new Sums();
  readonly booked = new Sums();
  agreed = 0n;
  compared = 0n;

  /** The smaller amount agrees; the larger was compared. */
  compare(one: Money, other: Money): void {
    for (const name of ["amount", "refunded"] as const) {
      const isLess = one[name] < other[name];
      this.agreed += isLess ? one[name] : other[name];
      this.compared += isLess ? other[name] : one[name];
    }
  }
}

class Sums {
  #count = 0;
  readonly #paid = { amount: 0n, refunded: 0n };
  readonly #disputed = { amount: 0n, refunded: 0n };

  add({ amount, refunded, dispute }: Money): void {
    const sums = dispute === undefined ? this.#paid : this.#disputed;
    if (dispute === undefined) this.#count += 1;
    sums.amount += amount;
    sums.refunded += refunded;
  }

  view() {
    return {
      count: this.#count,
      amount_minor: toJsonMinor(this.#paid.amount),
      refunded_minor: toJsonMinor(this.#paid.refunded),
      disputed_minor: toJsonMinor(this.#disputed.amount),
      reinstated_minor: toJsonMinor(this.#disputed.refunded),
    };
  }
}

/** The smallest units of several currencies count alike. */
function scoreView(agreed: bigint, compared: bigint) {
  const score_pct = scorePct(agreed, compared);
  return { agreed_minor: toJsonMinor(agreed), compared_minor: toJsonMinor(compared), score_pct };
}
