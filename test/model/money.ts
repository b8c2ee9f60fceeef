/**
 * Payments by brute force: what every sale, refund and dispute of one payment moved, and when
 * (`definitions.md`, Ledger and Transactions).
 */
import {
  exponentOf,
  type Dispute,
  type Fact,
  type Line,
  type Purchase,
  type Refund,
  type RefundTotal,
  type Sale,
} from "./facts.js";
import { type Fraction, fraction, rounded, tenTo, times } from "./fraction.js";
import type { Quotes } from "./quotes.js";

/** One movement of money, signed, in minor units of the base currency. */
export interface Entry {
  readonly provider: string;
  readonly sku: string;
  readonly at: number;
  readonly amount: bigint;
  readonly sales: number;
}

/** A payment as its customer sees it; what changes with time is asked for a moment. */
export interface Payment {
  readonly provider: string;
  readonly sku: string;
  readonly type: "subscription" | "one_time" | "refund";
  readonly amount: bigint;
  readonly currency: string;
  readonly normalized: bigint;
  readonly rate: Fraction;
  readonly country: string;
  readonly at: number;
  refundedAt(time: number): bigint;
  isDisputedAt(time: number): boolean;
}

export interface Money {
  readonly entries: readonly Entry[];
  readonly payments: readonly Payment[];
}

/** All that is known of one payment, each thing in its newest reading. */
interface Known {
  readonly provider: string;
  readonly sale: Sale | null;
  readonly purchases: readonly Purchase[];
  readonly refunds: readonly Refund[];
  readonly totals: readonly RefundTotal[];
  readonly disputes: readonly DisputeTimes[];
}

interface DisputeTimes {
  readonly amount: bigint;
  readonly currency: string;
  readonly withdrawnAt: number;
  readonly returnedAt: number | null;
}

export function moneyOf(facts: readonly Fact[], base: string, quotes: Quotes): Money {
  const entries: Entry[] = [];
  const payments: Payment[] = [];
  for (const known of paymentsIn(facts)) {
    entries.push(...entriesOf(known, base, quotes));
    if (known.sale !== null) payments.push(paymentOf(known, known.sale, base, quotes));
  }
  for (const refund of newest(facts, isRefund, (fact) => fact.refund)) {
    if (refund.payment !== null) continue;
    const rate = quotes.quote(refund.currency, base, refund.at);
    if (rate === null) continue;
    const normalized = converted(refund.amount, refund.currency, base, rate);
    const { provider, at, amount, currency } = refund;
    const sku = refund.sku ?? "";
    entries.push({ provider, sku, at, amount: -normalized, sales: 0 });
    payments.push({
      provider,
      sku,
      type: "refund",
      amount,
      currency,
      normalized,
      rate,
      country: refund.country ?? "ZZ",
      at,
      refundedAt: () => amount,
      isDisputedAt: () => false,
    });
  }
  return { entries, payments };
}

/** What an amount is in minor units of the base currency. */
export function converted(amount: bigint, currency: string, base: string, rate: Fraction): bigint {
  const shift = tenTo(exponentOf(base) - exponentOf(currency));
  return rounded(times(times(fraction(amount), rate), shift));
}

function paymentOf(known: Known, sale: Sale, base: string, quotes: Quotes): Payment {
  const rate = rateOf(quotes, sale.currency, base, sale.at);
  const types = [sale.type, ...known.purchases.map((purchase) => purchase.type)];
  const countries = [sale.country, ...known.purchases.map((purchase) => purchase.country)];
  return {
    provider: sale.provider,
    sku: largest(linesOf(known)).sku,
    type: types.find((type) => type !== null) ?? "one_time",
    amount: sale.amount,
    currency: sale.currency,
    normalized: converted(sale.amount, sale.currency, base, rate),
    rate,
    country: countries.find((country) => country !== null) ?? "ZZ",
    at: sale.at,
    refundedAt: (time) => refundedAt(known, time),
    isDisputedAt: (time) =>
      known.disputes.some(
        ({ withdrawnAt, returnedAt }) =>
          withdrawnAt <= time && (returnedAt === null || returnedAt > time),
      ),
  };
}

function entriesOf(known: Known, base: string, quotes: Quotes): Entry[] {
  const { provider, sale } = known;
  const lines = linesOf(known);
  const entries: Entry[] = [];
  const push = (at: number, amount: bigint, before = 0n) => {
    const shares = split(amount, lines);
    const sharesBefore = split(before, lines);
    for (const [index, { sku }] of lines.entries()) {
      const moved = (shares[index] ?? 0n) - (sharesBefore[index] ?? 0n);
      entries.push({ provider, sku, at, amount: moved, sales: 0 });
    }
  };
  const toBase = (amount: bigint, currency: string, at: number) => {
    const day = sale !== null && sale.currency === currency ? sale.at : at;
    return converted(amount, currency, base, rateOf(quotes, currency, base, day));
  };
  if (sale !== null) {
    push(sale.at, toBase(sale.amount, sale.currency, sale.at));
    const { sku } = largest(lines);
    entries.push({ provider, sku, at: sale.at, amount: 0n, sales: 1 });
  }
  if (sale === null) {
    for (const { amount, currency, at, failedAt, sku } of known.refunds) {
      const moved = toBase(amount, currency, at);
      if (sku === null) push(at, -moved);
      else entries.push({ provider, sku, at, amount: -moved, sales: 0 });
      if (failedAt !== null) push(failedAt, moved);
    }
    // Without single refunds the totals tell: each step at its own day's rate.
    let told = 0n;
    for (const time of known.refunds.length > 0 ? [] : refundTimes(known)) {
      const refunded = refundedAt(known, time);
      push(time, -toBase(refunded - told, known.totals[0]?.currency ?? "", time));
      told = refunded;
    }
  }
  let before = 0n;
  for (const time of sale === null ? [] : refundTimes(known)) {
    const refunded = refundedAt(known, time);
    const currency = (known.refunds[0] ?? known.totals[0])?.currency ?? "";
    const named = known.refunds.find((refund) => refund.at === time && refund.sku !== null);
    const now = -toBase(refunded, currency, time);
    if (named?.sku === undefined || named.sku === null) push(time, now, before);
    else entries.push({ provider, sku: named.sku, at: time, amount: now - before, sales: 0 });
    before = now;
  }
  for (const { amount, currency, withdrawnAt, returnedAt } of known.disputes) {
    const moved = toBase(amount, currency, withdrawnAt);
    push(withdrawnAt, -moved);
    if (returnedAt !== null) push(returnedAt, moved);
  }
  return entries;
}

function refundTimes({ refunds, totals }: Known): number[] {
  const all = [
    ...refunds.flatMap(({ at, failedAt }) => (failedAt === null ? [at] : [at, failedAt])),
    ...totals.map(({ at }) => at),
  ];
  return [...new Set(all)].sort((a, b) => a - b);
}

/**
 * The single refunds that stand at that time, or the newest cumulative reading less what failed
 * since: whichever knows more.
 */
function refundedAt({ refunds, totals }: Known, time: number): bigint {
  const single = sumOf(
    refunds.filter(({ at, failedAt }) => at <= time && (failedAt === null || failedAt > time)),
  );
  const reading = [...totals]
    .filter(({ at }) => at <= time)
    .sort(byTelling)
    .at(-1);
  if (reading === undefined) return single;
  const failed = refunds.filter(
    ({ failedAt }) => failedAt !== null && failedAt > reading.at && failedAt <= time,
  );
  const told = reading.amount - sumOf(failed);
  return told > single ? told : single;
}

function sumOf(some: readonly Refund[]): bigint {
  return some.reduce((total, { amount }) => total + amount, 0n);
}

/** Towards zero each, the rest to the largest; all to the largest when the lines sum to nothing. */
export function split(total: bigint, lines: readonly Line[]): bigint[] {
  const sum = lines.reduce((all, { weight }) => all + weight, 0n);
  const shares = lines.map(({ weight }) => (sum > 0n ? (total * weight) / sum : 0n));
  const rest = total - shares.reduce((all, share) => all + share, 0n);
  const main = lines.indexOf(largest(lines));
  return shares.map((share, index) => (index === main ? share + rest : share));
}

/** The first of the largest. */
function largest(lines: readonly Line[]): Line {
  const none: Line = { sku: "", weight: 0n };
  return lines.reduce((best, line) => (line.weight > best.weight ? line : best), lines[0] ?? none);
}

/** One for each product, in the order in which they are first named. */
function linesOf({ sale, purchases }: Known): readonly Line[] {
  const told = [sale?.lines ?? [], ...purchases.map(({ lines }) => lines)];
  const weights = new Map<string, bigint>();
  for (const { sku, weight } of told.find((lines) => lines.length > 0) ?? []) {
    weights.set(sku, (weights.get(sku) ?? 0n) + weight);
  }
  if (weights.size === 0) weights.set("", 0n);
  return [...weights].map(([sku, weight]) => ({ sku, weight }));
}

function rateOf(quotes: Quotes, currency: string, base: string, time: number): Fraction {
  const rate = quotes.quote(currency, base, time);
  if (rate === null) throw new Error(`no rate of ${currency}: such events are rejects`);
  return rate;
}

function paymentsIn(facts: readonly Fact[]): Known[] {
  const keys = new Set(
    facts.flatMap((fact) =>
      (isSale(fact) || isRefund(fact) || isTotal(fact) || isDispute(fact)) && fact.payment !== null
        ? [`${fact.provider} ${fact.payment}`]
        : [],
    ),
  );
  return [...keys].map((key) => {
    const ours = facts.filter(
      (fact) =>
        "payment" in fact && fact.payment !== null && `${fact.provider} ${fact.payment}` === key,
    );
    const provider = ours[0]?.provider ?? "";
    const linked = ours.flatMap((fact) => (fact.kind === "link" ? [fact.purchase] : []));
    return {
      provider,
      sale: newest(ours, isSale, (sale) => sale.payment)[0] ?? null,
      purchases: newest(facts, isPurchase, (fact) => fact.purchase).filter(
        (fact) => fact.provider === provider && linked.includes(fact.purchase),
      ),
      refunds: newest(ours, isRefund, (fact) => fact.refund),
      totals: ours.filter(isTotal),
      disputes: [...new Set(ours.filter(isDispute).map(({ dispute }) => dispute))].flatMap((id) =>
        disputeTimes(ours.filter(isDispute).filter(({ dispute }) => dispute === id)),
      ),
    };
  });
}

/** The most certain times win, of equally certain ones the first told: it stays. */
function disputeTimes(readings: readonly Dispute[]): DisputeTimes[] {
  const last = [...readings].sort(byTelling).at(-1);
  const ordered = [...readings].sort((a, b) => b.certainty - a.certainty || byTelling(a, b));
  const told = (name: "withdrawnAt" | "returnedAt") =>
    ordered.flatMap((reading) => reading[name] ?? [])[0] ?? null;
  const withdrawnAt = told("withdrawnAt");
  if (last === undefined || withdrawnAt === null) return [];
  const { amount, currency } = last;
  return [{ amount, currency, withdrawnAt, returnedAt: told("returnedAt") }];
}

/** Of all readings of one thing the one told last. */
export function newest<T extends Fact>(
  facts: readonly Fact[],
  isKind: (fact: Fact) => fact is T,
  idOf: (fact: T) => string,
): T[] {
  const ordered = facts.filter(isKind).sort(byTelling);
  return [...new Map(ordered.map((fact) => [`${fact.provider} ${idOf(fact)}`, fact])).values()];
}

export function byTelling(a: Fact, b: Fact): number {
  return a.toldAt - b.toldAt || (a.eventId < b.eventId ? -1 : a.eventId > b.eventId ? 1 : 0);
}

const isSale = (fact: Fact): fact is Sale => fact.kind === "sale";
const isPurchase = (fact: Fact): fact is Purchase => fact.kind === "purchase";
const isRefund = (fact: Fact): fact is Refund => fact.kind === "refund";
const isTotal = (fact: Fact): fact is RefundTotal => fact.kind === "refund_total";
const isDispute = (fact: Fact): fact is Dispute => fact.kind === "dispute";
