/**
 * Payments by brute force: what every sale, refund and dispute of one payment moved, and when
 * (`definitions.md`, Ledger and Transactions).
 */
import {
  exponentOf,
  type Dispute,
  type Fact,
  type Line,
  type Link,
  type Purchase,
  type Refund,
  type RefundTotal,
  type Sale,
} from "./facts.js";
import { type Fraction, fraction, rounded, tenTo, times } from "./fraction.js";
import { quote } from "./quotes.js";
import { returnedBy } from "./refund-allocation.js";
import { largest, split } from "./split.js";

/** One movement of money, signed, in minor units of the base currency. */
export interface Entry {
  readonly kind: "sale" | "refund" | "dispute";
  readonly provider: string;
  readonly sku: string;
  /** In which the customer paid. */
  readonly currency: string;
  readonly country: string;
  readonly at: number;
  readonly amount: bigint;
  /** Within `amount`, as far as it is reported. */
  readonly tax: bigint;
  /** What the provider kept of a sale; left out: nothing reported. */
  readonly fee?: bigint;
  readonly sales: number;
}

/** A payment as its customer sees it; what changes with time is asked for a moment. */
interface Payment {
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
  /** Of a known sale; those above are in its currency then. */
  readonly refundsInOthers: readonly Refund[];
  readonly totals: readonly RefundTotal[];
  readonly disputes: readonly DisputeTimes[];
}

interface DisputeTimes {
  readonly amount: bigint;
  readonly currency: string;
  readonly withdrawnAt: number;
  /** What came back of it, in order of time. */
  readonly returns: readonly { readonly at: number; readonly amount: bigint }[];
  readonly line: string | null;
  /** Null: nobody reported it. */
  readonly tax: bigint | null;
}

export function moneyOf(facts: readonly Fact[], base: string): Money {
  const entries: Entry[] = [];
  const payments: Payment[] = [];
  for (const known of paymentsIn(withSharedRefunds(facts))) {
    entries.push(...entriesOf(known, base));
    if (known.sale !== null) payments.push(paymentOf(known, known.sale, base));
  }
  for (const refund of newest(facts, isRefund, (fact) => fact.refund)) {
    if (refund.payment !== null) continue;
    const rate = quote(refund.currency, base, refund.at);
    if (rate === null) continue;
    const normalized = converted(refund.amount, refund.currency, base, rate);
    const { provider, at, amount, currency } = refund;
    const sku = refund.sku ?? "";
    const country = refund.country ?? "ZZ";
    const place = { provider, sku, currency, country };
    entries.push({ kind: "refund", ...place, at, amount: -normalized, tax: 0n, sales: 0 });
    payments.push({
      provider,
      sku,
      type: "refund",
      amount,
      currency,
      normalized,
      rate,
      country,
      at,
      refundedAt: () => amount,
      isDisputedAt: () => false,
    });
  }
  return { entries, payments };
}

/** What an amount is in minor units of the base currency. */
function converted(amount: bigint, currency: string, base: string, rate: Fraction): bigint {
  const shift = tenTo(exponentOf(base) - exponentOf(currency));
  return rounded(times(times(fraction(amount), rate), shift));
}

function paymentOf(known: Known, sale: Sale, base: string): Payment {
  const rate = rateOf(sale.currency, base, sale.at);
  const types = [sale.type, ...known.purchases.map((purchase) => purchase.type)];
  return {
    provider: sale.provider,
    sku: largest(linesOf(known)).sku,
    type: types.find((type) => type !== null) ?? "one_time",
    amount: sale.amount,
    currency: sale.currency,
    normalized: converted(sale.amount, sale.currency, base, rate),
    rate,
    country: countryOf(known) ?? "ZZ",
    at: sale.at,
    refundedAt: (time) => refundedInAll(known, sale, base, time),
    isDisputedAt: (time) => known.disputes.some((dispute) => isOpenAt(dispute, time)),
  };
}

function countryOf({ sale, purchases }: Known): string | null {
  const countries = [sale?.country, ...purchases.map((purchase) => purchase.country)];
  return countries.find((country) => typeof country === "string") ?? null;
}

function entriesOf(known: Known, base: string): Entry[] {
  const { sale } = known;
  const lines = linesOf(known);
  const entries: Entry[] = [];
  const push = (about: About, sku: string, amount: bigint, tax: bigint, sales = 0, fee = 0n) => {
    const country = countryOf(known) ?? about.country ?? "ZZ";
    entries.push({ ...about, provider: known.provider, country, sku, amount, tax, sales, fee });
  };
  const pushSplit = (about: About, after: Moved, before: Moved = nothing) => {
    const amounts = difference(after.amount, before.amount, lines);
    const taxes = difference(after.tax, before.tax, lines);
    for (const [index, { sku }] of lines.entries()) {
      push(about, sku, amounts[index] ?? 0n, taxes[index] ?? 0n);
    }
  };
  const toBase = (amount: bigint, currency: string, at: number) => {
    const day = sale !== null && sale.currency === currency ? sale.at : at;
    return converted(amount, currency, base, rateOf(currency, base, day));
  };
  const wholeTax = sale === null ? 0n : toBase(taxOf(known), sale.currency, sale.at);
  // As much of the tax as of the sale.
  const taxIn = (amount: bigint, currency: string) => {
    if (sale === null || sale.currency !== currency) return 0n;
    const part = rounded(times(fraction(amount, sale.amount), fraction(wholeTax)));
    return part < wholeTax ? part : wholeTax;
  };
  // As reported; all of it with the last of the money.
  const taxBackAt = (time: number, currency: string, out: bigint) => {
    const { refunds, totals, disputes } = known;
    const whole = taxOf(known);
    const open = disputes.filter((dispute) => isOpenAt(dispute, time));
    const reported = [
      ...standingAt(refunds, time).map(({ tax }) => tax ?? null),
      ...open.map((dispute) => taxLeftAt(dispute, time)),
    ];
    const isReported = totals.length === 0 && reported.every((tax) => tax !== null);
    if (!isReported || sale?.currency !== currency || whole === 0n) return taxIn(out, currency);
    if (out >= sale.amount) return wholeTax;
    const sum = reported.reduce<bigint>((running, tax) => running + (tax ?? 0n), 0n);
    return rounded(times(fraction(sum < whole ? sum : whole, whole), fraction(wholeTax)));
  };
  if (sale !== null) {
    const { at, currency } = sale;
    const about = { kind: "sale", at, currency, country: null } as const;
    pushSplit(about, { amount: toBase(sale.amount, currency, at), tax: wholeTax });
    push(about, largest(lines).sku, 0n, 0n, 1);
    const fees = split(toBase(sale.fee ?? 0n, currency, at), lines);
    for (const [index, { sku }] of lines.entries()) push(about, sku, 0n, 0n, 0, fees[index]);
  }
  // At its own day's rate each, with an unknown sale or beside one in another currency.
  for (const refund of sale === null ? known.refunds : known.refundsInOthers) {
    const { amount, currency, at, failedAt, country } = refund;
    const about = { kind: "refund", at, currency, country } as const;
    const tax = toBase(refund.tax ?? 0n, currency, at);
    const out = { amount: toBase(amount, currency, at), tax };
    const sku = skuOf(refund, known);
    const give = (time: number, moves: Moved) => {
      if (sku === null) pushSplit({ ...about, at: time }, moves);
      else push({ ...about, at: time }, sku, moves.amount, moves.tax);
    };
    give(at, negative(out));
    if (failedAt !== null) give(failedAt, out);
  }
  if (sale === null) {
    // Without single refunds the totals report: each step at its own day's rate.
    let reported = 0n;
    for (const at of known.refunds.length > 0 ? [] : refundTimes(known)) {
      const refunded = refundedAt(known, at);
      const currency = known.totals[0]?.currency ?? "";
      const amount = -toBase(refunded - reported, currency, at);
      pushSplit({ kind: "refund", at, currency, country: null }, { amount, tax: 0n });
      reported = refunded;
    }
  }
  // All that goes out in the sale's currency adds up, be it refunded or disputed.
  let before = nothing;
  let disputed = 0n;
  const named = new Map<string, Moved>();
  const sold = { amount: sale === null ? 0n : toBase(sale.amount, sale.currency, sale.at) };
  const sharesOf = (whole: Moved) => {
    const one = (of: "amount" | "tax") =>
      returnedBy(
        { ...sold, tax: wholeTax }[of],
        lines,
        whole[of],
        new Map([...named].map(([sku, moved]) => [sku, moved[of]])),
      );
    return { amount: one("amount"), tax: one("tax") };
  };
  const takenBy = new Map<string, Moved>();
  for (const { at, kind, dispute, sku, id, isBack } of sale === null ? [] : outsOf(known)) {
    disputed += dispute;
    const currency = (known.refunds[0] ?? known.totals[0])?.currency ?? sale?.currency ?? "";
    const out = refundedAt(known, kind === "refund" ? at : at - 1) + disputed;
    const now = { amount: toBase(out, currency, at), tax: taxBackAt(at, currency, out) };
    const [first, step] = [sharesOf(before), minus(now, before)];
    if (sku !== null) {
      // What is given back whole is what was taken; converted, a cent may lie between them.
      const taken = takenBy.get(id);
      const moved = isBack === "whole" && taken !== undefined ? negative(taken) : step;
      const all = minus(named.get(sku) ?? nothing, negative(moved));
      takenBy.set(id, isBack === null ? step : minus(taken ?? nothing, negative(moved)));
      if (all.amount === 0n && all.tax === 0n) named.delete(sku);
      else named.set(sku, all);
    }
    const last = sharesOf(now);
    const about = { kind, at, currency, country: null } as const;
    for (const each of new Set([...first.amount.keys(), ...last.amount.keys()])) {
      const share = (of: "amount" | "tax") =>
        (first[of].get(each) ?? 0n) - (last[of].get(each) ?? 0n);
      push(about, each, share("amount"), share("tax"));
    }
    before = now;
  }
  for (const dispute of sale === null ? known.disputes : []) {
    const { amount, tax, currency, withdrawnAt: at, returns } = dispute;
    const out = { amount: toBase(amount, currency, at), tax: toBase(tax ?? 0n, currency, at) };
    const sku = dispute.line === null ? null : skuOfLine(dispute.line, known);
    const give = (time: number, moves: Moved) => {
      const about = { kind: "dispute", at: time, currency, country: null } as const;
      if (sku === null) pushSplit(about, moves);
      else push(about, sku, moves.amount, moves.tax);
    };
    give(at, negative(out));
    for (const back of returns) {
      const taxBack = (taxLeftAt(dispute, back.at - 1) ?? 0n) - (taxLeftAt(dispute, back.at) ?? 0n);
      give(back.at, {
        amount: toBase(back.amount, currency, at),
        tax: toBase(taxBack, currency, at),
      });
    }
  }
  return entries;
}

/** The product a refund takes from: named, or that of the line it names; null: all of them. */
function skuOf({ sku, line }: Refund, known: Known): string | null {
  return sku !== null || !line ? sku : skuOfLine(line, known);
}

function skuOfLine(line: string, { sale }: Known): string {
  return sale?.lines.find(({ id }) => id === line)?.sku ?? "";
}

type About = Pick<Entry, "kind" | "at" | "currency"> & { readonly country: string | null };

/** Minor units of the base currency. */
type Moved = Pick<Entry, "amount" | "tax">;
const nothing: Moved = { amount: 0n, tax: 0n };
const negative = ({ amount, tax }: Moved): Moved => ({ amount: -amount, tax: -tax });
const minus = (one: Moved, other: Moved): Moved => ({
  amount: one.amount - other.amount,
  tax: one.tax - other.tax,
});

function difference(after: bigint, before: bigint, lines: readonly Line[]): bigint[] {
  const sharesBefore = split(before, lines);
  return split(after, lines).map((share, index) => share - (sharesBefore[index] ?? 0n));
}

/** Of the sale, in its own currency. */
function taxOf({ sale, purchases }: Known): bigint {
  const reported = [sale?.tax, ...purchases.map(({ tax }) => tax)];
  return reported.find((tax) => typeof tax === "bigint") ?? 0n;
}

interface Out {
  readonly at: number;
  readonly kind: "refund" | "dispute";
  readonly dispute: bigint;
  readonly sku: string | null;
  /** Of what took the money, and whether it is all back with this; null: it goes out. */
  readonly id: string;
  readonly isBack: "whole" | "part" | null;
}

/** Refunds and disputes in order of time; at one moment disputes come first. */
function outsOf(known: Known): Out[] {
  const refunds = refundTimes(known).map((at): Out => {
    const [named] = known.refunds
      .filter((refund) => refund.at === at || refund.failedAt === at)
      .filter((refund) => skuOf(refund, known) !== null);
    const sku = named === undefined ? null : skuOf(named, known);
    const id = named?.refund ?? "";
    return {
      at,
      kind: "refund",
      dispute: 0n,
      sku,
      id,
      isBack: named?.failedAt === at ? "whole" : null,
    };
  });
  const disputes = known.disputes.flatMap((reported, index): Out[] => {
    const { amount, line, withdrawnAt, returns } = reported;
    const sku = line === null ? null : skuOfLine(line, known);
    const [id, kind] = [`dispute ${index}`, "dispute"] as const;
    const out = { at: withdrawnAt, kind, dispute: amount, sku, id, isBack: null };
    let left = amount;
    const backs = returns.map(({ at, amount: returned }): Out => {
      left -= returned;
      return { ...out, at, dispute: -returned, isBack: left > 0n ? "part" : "whole" };
    });
    return [out, ...backs];
  });
  return [...disputes, ...refunds].sort((a, b) => a.at - b.at);
}

function refundTimes({ refunds, totals }: Known): number[] {
  const all = [
    ...refunds.flatMap(({ at, failedAt }) => (failedAt === null ? [at] : [at, failedAt])),
    ...totals.map(({ at }) => at),
  ];
  return [...new Set(all)].sort((a, b) => a - b);
}

/** What a payment's own documents report, and what was returned another way, which none counts. */
function refundedAt(known: Known, time: number): bigint {
  const own = known.refunds.filter(({ purchase }) => !purchase);
  const others = known.refunds.filter((refund) => !own.includes(refund));
  return refundedByItself({ ...known, refunds: own }, time) + sumOf(standingAt(others, time));
}

/**
 * The single refunds that stand at that time, or the newest cumulative reading less what failed
 * since: whichever knows more. Of several documents that count, the greatest.
 */
function refundedByItself(known: Known, time: number): bigint {
  const witnesses = new Set(known.totals.map(({ witness }) => witness));
  const most = (one: bigint, other: bigint) => (one > other ? one : other);
  return [...witnesses]
    .map((witness) => known.totals.filter((total) => total.witness === witness))
    .map((totals) => refundedBy({ ...known, totals }, time))
    .reduce(most, refundedBy({ ...known, totals: [] }, time));
}

function refundedBy({ refunds, totals }: Known, time: number): bigint {
  const single = sumOf(standingAt(refunds, time));
  const reading = [...totals]
    .filter(({ at }) => at <= time)
    .sort((a, b) => a.at - b.at || (a.amount < b.amount ? -1 : 1))
    .at(-1);
  if (reading === undefined) return single;
  const failed = refunds.filter(
    ({ failedAt }) => failedAt !== null && failedAt > reading.at && failedAt <= time,
  );
  const reported = reading.amount - sumOf(failed);
  return reported > single ? reported : single;
}

/** Refunds in other currencies take as much of what is left as of what that is worth. */
function refundedInAll(known: Known, sale: Sale, base: string, time: number): bigint {
  const own = refundedAt(known, time);
  const toBase = (amount: bigint, currency: string, at: number) =>
    converted(amount, currency, base, rateOf(currency, base, at));
  const others = standingAt(known.refundsInOthers, time)
    .map(({ amount, currency, at }) => toBase(amount, currency, at))
    .reduce((sum, one) => sum + one, 0n);
  if (others === 0n || own >= sale.amount) return own;
  const worth = toBase(sale.amount, sale.currency, sale.at) - toBase(own, sale.currency, sale.at);
  return others >= worth ? sale.amount : own + ((sale.amount - own) * others) / worth;
}

/** One of which only a part came back stays open. */
function isOpenAt({ amount, withdrawnAt, returns }: DisputeTimes, time: number): boolean {
  const back = returns.filter(({ at }) => at <= time).reduce((sum, one) => sum + one.amount, 0n);
  return withdrawnAt <= time && back < amount;
}

/** Each part that comes back has its part of what is left; null: nobody reported it. */
function taxLeftAt({ amount, tax, returns }: DisputeTimes, time: number): bigint | null {
  if (tax === null) return null;
  let left = { amount, tax };
  for (const back of returns.filter(({ at }) => at <= time)) {
    const part = rounded(times(fraction(left.tax), fraction(back.amount, left.amount)));
    left = { amount: left.amount - back.amount, tax: left.tax - part };
  }
  return left.tax;
}

function standingAt(refunds: readonly Refund[], time: number): Refund[] {
  return refunds.filter(({ at, failedAt }) => at <= time && (failedAt === null || failedAt > time));
}

function sumOf(some: readonly Refund[]): bigint {
  return some.reduce((total, { amount }) => total + amount, 0n);
}

/** One for each product, in the order in which they are first named. */
function linesOf({ sale, purchases }: Known): readonly Line[] {
  const reported = [sale?.lines ?? [], ...purchases.map(({ lines }) => lines)];
  return bySku(reported.find((lines) => lines.length > 0) ?? []);
}

function bySku(lines: readonly Line[]): readonly Line[] {
  const weights = new Map<string, bigint>();
  for (const { sku, weight } of lines) weights.set(sku, (weights.get(sku) ?? 0n) + weight);
  if (weights.size === 0) weights.set("", 0n);
  return [...weights].map(([sku, weight]) => ({ sku, weight }));
}

function rateOf(currency: string, base: string, time: number): Fraction {
  const rate = quote(currency, base, time);
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
    const links = ours.flatMap((fact) => (fact.kind === "link" ? [fact] : []));
    const sale = saleOf(ours);
    const refunds = newest(ours, isRefund, (fact) => fact.refund).flatMap((last) =>
      standing(
        last,
        ours.filter(isRefund).filter(({ refund }) => refund === last.refund),
      ),
    );
    const isOwn = ({ currency }: Refund) => sale === null || currency === sale.currency;
    return {
      provider,
      sale,
      purchases: newest(
        facts.filter((fact) => fact.provider === provider),
        isPurchase,
        (fact) => fact.purchase,
      )
        .flatMap((last) => asLinked(last, facts, links) ?? [])
        .map((whole) => partOf(whole, ours, facts)),
      refunds: refunds.filter(isOwn),
      refundsInOthers: refunds.filter((refund) => !isOwn(refund)),
      totals: ours.filter(isTotal),
      disputes: withLoneReturns(
        [...new Set(ours.filter(isDispute).map(({ dispute }) => dispute))].flatMap((id) =>
          disputeTimes(ours.filter(isDispute).filter(({ dispute }) => dispute === id)),
        ),
        ours.filter(isDispute),
      ),
    };
  });
}

/** Who reports all of it is believed; else all records there are, each once. */
function sumOfRecords(reported: readonly NonNullable<Link["part"]>[] | readonly Sale[]) {
  const whole = reported.findLast(({ record }) => !record);
  const records = new Map(reported.map(({ record, amount }) => [record, amount]));
  return whole?.amount ?? [...records.values()].reduce((sum, amount) => sum + amount, 0n);
}

/** The payment's own word; what it leaves open a second-hand one may say. */
function saleOf(ours: readonly Fact[]): Sale | null {
  const sale = newestSaleOf(ours);
  if (sale === null || ours.filter(isSale).every(({ record }) => !record)) return sale;
  return { ...sale, amount: sumOfRecords(ours.filter(isSale).sort(byReport)) };
}

function newestSaleOf(ours: readonly Fact[]): Sale | null {
  const [firstHand] = newest(ours, isFirstHand, (sale) => sale.payment);
  const [any = null] = newest(ours, isSale, (sale) => sale.payment);
  if (firstHand === undefined) return any;
  const type = ours.filter(isSale).find((sale) => sale.type !== null)?.type ?? null;
  return { ...firstHand, type: firstHand.type ?? type };
}

/** The reading a payment is linked to; null: it is not linked at all. */
function asLinked(last: Purchase, facts: readonly Fact[], links: readonly Link[]): Purchase | null {
  const ours = links.filter(({ purchase }) => purchase === last.purchase);
  const moments = ours.flatMap(({ asOf }) => asOf ?? []);
  if (ours.length === 0) return null;
  if (moments.length === 0) return last;
  const readings = facts
    .filter(isPurchase)
    .filter(({ provider, purchase }) => provider === last.provider && purchase === last.purchase)
    .sort(byReport);
  return (
    readings.findLast(({ reportedAt }) => reportedAt <= Math.min(...moments)) ?? readings[0] ?? null
  );
}

/**
 * What this payment has of a purchase that several pay, one after the other: what it has with this
 * payment, less what it had before it.
 */
function partOf(whole: Purchase, ours: readonly Fact[], facts: readonly Fact[]): Purchase {
  const { provider, purchase, lines, tax = null } = whole;
  const total = whole.total ?? 0n;
  const payment = ours.find(isLink)?.payment ?? "";
  const parts = partsOf(provider, purchase, facts);
  const place = parts.findIndex(({ id }) => id === payment);
  if (place < 0 || total <= 0n) return whole;
  const upTo = (end: number) => parts.slice(0, end).reduce((sum, { amount }) => sum + amount, 0n);
  const [before, after] = [upTo(place), upTo(place + 1)];
  const taxUpTo = (paid: bigint) =>
    rounded(times(fraction(tax ?? 0n), fraction(paid < total ? paid : total, total)));
  const skus = bySku(lines);
  const shares = difference(after, before, skus);
  return {
    ...whole,
    tax: tax === null ? null : taxUpTo(after) - taxUpTo(before),
    lines:
      before === 0n || lines.length === 0
        ? lines
        : skus.map(({ sku }, index) => ({ sku, weight: shares[index] ?? 0n })),
  };
}

/** What each payment paid of a purchase, one after the other. */
function partsOf(provider: string, purchase: string, facts: readonly Fact[]) {
  const reported = facts
    .filter(isLink)
    .filter((link) => link.provider === provider && link.purchase === purchase);
  const parts = [...new Set(reported.map((link) => link.payment))].flatMap((id) => {
    const own = reported.filter((link) => link.payment === id).flatMap(({ part }) => part ?? []);
    if (own.length === 0) return [];
    const wholes = own.flatMap(({ record, amount }) => (record ? [] : [amount]));
    const amount =
      wholes.length === 0 ? sumOfRecords(own) : wholes.reduce((a, b) => (a > b ? a : b));
    return [{ id, amount, at: Math.min(...own.map((part) => part.at)) }];
  });
  return parts.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
}

/**
 * What was returned for a purchase is returned by its payments: the first gives back what it paid,
 * then the next, and the last whatever is left.
 */
function withSharedRefunds(facts: readonly Fact[]): Fact[] {
  const whole = facts.filter(isRefund).filter(({ purchase }) => purchase);
  const shared: Fact[] = [];
  const names = new Set(whole.map(({ provider, purchase = "" }) => `${provider} ${purchase}`));
  for (const name of names) {
    const reported = whole.filter((one) => `${one.provider} ${one.purchase}` === name);
    const parts = partsOf(reported[0]?.provider ?? "", reported[0]?.purchase ?? "", facts);
    const left = parts.map(({ amount }) => amount);
    const notes = newest(reported, isRefund, ({ refund }) => refund).map((last) => {
      const readings = reported.filter(({ refund }) => refund === last.refund);
      const hasFailed = readings.some(({ failedAt }) => failedAt !== null);
      return { last, readings, hasFailed, at: Math.min(...readings.map(({ at }) => at)) };
    });
    notes.sort((a, b) => a.at - b.at || (a.last.refund < b.last.refund ? -1 : 1));
    for (const { last, readings, hasFailed } of notes) {
      let given = 0n;
      for (const [index, { id }] of parts.entries()) {
        const open = left[index] ?? 0n;
        const rest = last.amount - given;
        const amount = index === parts.length - 1 || rest < open ? rest : open;
        const taxUpTo = (money: bigint) =>
          rounded(times(fraction(last.tax ?? 0n), fraction(money, last.amount)));
        const tax = taxUpTo(given + amount) - taxUpTo(given);
        const own = { payment: id, amount, tax: typeof last.tax === "bigint" ? tax : null };
        if (amount > 0n) shared.push(...readings.map((reading) => ({ ...reading, ...own })));
        if (!hasFailed) left[index] = amount < open ? open - amount : 0n;
        given += amount;
      }
      if (parts.length === 0) shared.push(...readings);
    }
  }
  return [...facts.filter((fact) => !isRefund(fact) || !fact.purchase), ...shared];
}

/** At the first of its dates; nothing when it had failed by then. */
function standing(last: Refund, readings: readonly Refund[]): Refund[] {
  const at = Math.min(...readings.map((reading) => reading.at));
  const failures = readings.flatMap(({ failedAt }) => failedAt ?? []);
  const failedAt = failures.length === 0 ? null : Math.min(...failures);
  return failedAt !== null && failedAt <= at ? [] : [{ ...last, at, failedAt }];
}

/**
 * Money that came back under an id of its own is that of the dispute of as much and from the same
 * line, else of as much, else of whichever was open then and the longest; the rest that of another.
 */
function withLoneReturns(
  disputes: readonly DisputeTimes[],
  facts: readonly Dispute[],
): DisputeTimes[] {
  const withdrawn = facts.filter(({ withdrawnAt }) => withdrawnAt !== null);
  const ids = withdrawn.map(({ dispute }) => dispute);
  const lone = facts.filter(({ dispute }) => !ids.includes(dispute)).sort(byReport);
  const returns = new Map(lone.map((fact) => [fact.dispute, fact]));
  const known = [...disputes].sort((a, b) => a.withdrawnAt - b.withdrawnAt);
  const timeOf = ({ returnedAt }: Dispute) => returnedAt ?? Infinity;
  for (const back of [...returns.values()].sort((a, b) => timeOf(a) - timeOf(b))) {
    let left = back.amount;
    while (left > 0n) {
      const open = known.filter((one) => one.withdrawnAt <= timeOf(back) && leftOf(one) > 0n);
      const asMuch = open.filter((one) => leftOf(one) === left);
      const alike = asMuch.filter(({ line }) => line === (back.line || null));
      const found = [...alike, ...asMuch, ...open][0];
      if (found === undefined) break;
      const amount = left < leftOf(found) ? left : leftOf(found);
      const given = [...found.returns, { at: timeOf(back), amount }];
      known[known.indexOf(found)] = { ...found, returns: given };
      left -= amount;
    }
  }
  return known;
}

function leftOf({ amount, returns }: DisputeTimes): bigint {
  return returns.reduce((left, one) => left - one.amount, amount);
}

/** The most certain times win, of equally certain ones the first reported: it stays. */
function disputeTimes(readings: readonly Dispute[]): DisputeTimes[] {
  const last = [...readings].sort(byReport).at(-1);
  const ordered = [...readings].sort((a, b) => b.certainty - a.certainty || byReport(a, b));
  const reported = (name: "withdrawnAt" | "returnedAt") =>
    ordered.flatMap((reading) => reading[name] ?? [])[0] ?? null;
  const withdrawnAt = reported("withdrawnAt");
  if (last === undefined || withdrawnAt === null) return [];
  const { amount, currency, tax = null } = last;
  const line = last.line || null;
  const back = ordered.find(({ returnedAt }) => returnedAt !== null);
  const at = back?.returnedAt ?? null;
  const returns = at === null ? [] : [{ at, amount: back?.returned ?? amount }];
  return [{ amount, currency, withdrawnAt, returns, line, tax }];
}

/** Of all readings of one thing the one reported last. */
function newest<T extends Fact>(
  facts: readonly Fact[],
  isKind: (fact: Fact) => fact is T,
  idOf: (fact: T) => string,
): T[] {
  const ordered = facts.filter(isKind).sort(byReport);
  return [...new Map(ordered.map((fact) => [`${fact.provider} ${idOf(fact)}`, fact])).values()];
}

function byReport(a: Fact, b: Fact): number {
  return (
    a.reportedAt - b.reportedAt || (a.eventId < b.eventId ? -1 : a.eventId > b.eventId ? 1 : 0)
  );
}

const isSale = (fact: Fact): fact is Sale => fact.kind === "sale";
const isFirstHand = (fact: Fact): fact is Sale => isSale(fact) && fact.isSecondHand !== true;
const isLink = (fact: Fact): fact is Link => fact.kind === "link";
const isPurchase = (fact: Fact): fact is Purchase => fact.kind === "purchase";
const isRefund = (fact: Fact): fact is Refund => fact.kind === "refund";
const isTotal = (fact: Fact): fact is RefundTotal => fact.kind === "refund_total";
const isDispute = (fact: Fact): fact is Dispute => fact.kind === "dispute";
