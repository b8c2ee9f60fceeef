/**
 * What was refunded of a payment, as steps in time. Single refunds (which may fail) and cumulative
 * readings of the charge both report it; the greater of the two counts, so that nothing is missed
 * or counted twice. Money that came back another way than the charge was paid (`Refund.purchase`)
 * is in no reading and is added. Pure.
 */
import { grouped } from "../../../runtime/lists.js";
import { divideRounded } from "../../../schemas/money/money.js";
import type { BodyOf, Fact, Line, Quote } from "../../../schemas/records/records.js";
import { byNewest, type Reading, readingsOf, refundIn } from "../../normalize/facts.js";
import type { Shares } from "./invoice-allocation.js";

/** The refunded total of one currency goes from `before` to `after`; minor units. */
export interface RefundStep {
  readonly reported: ReportedRefund;
  readonly before: bigint;
  readonly after: bigint;
  /** Inside the step, with its sign; null: not reported. */
  readonly tax: bigint | null;
}

interface ReportedRefund {
  readonly entry: string;
  readonly at: number;
  readonly currency: string;
  /** Of the fact that reported it, for when the sale's rate does not apply. */
  readonly quote: Quote;
  /** Empty: it is spread like the sale. */
  readonly lines: readonly Line[];
  readonly country: string | null;
  /** Within `single`; null: not reported. */
  readonly tax: bigint | null;
  /** The entry of the refund that failed. */
  readonly undoes: string | null;
  /** Added to the sum of single refunds; negative when one failed. */
  readonly single: bigint;
  /** No cumulative reading includes it. */
  readonly isApart: boolean;
  /** A cumulative reading by `witness`. */
  readonly total: bigint | null;
  readonly witness: string;
}

/** @param saleCurrency null while no sale is known */
export function refundSteps(facts: readonly Fact[], saleCurrency: string | null): RefundStep[] {
  const reported = [...singles(facts), ...totals(facts, saleCurrency)].sort(
    (one, other) => one.at - other.at || (one.entry < other.entry ? -1 : 1),
  );
  const currencies = [...new Set(reported.map(({ currency }) => currency))];
  return currencies.flatMap((currency) =>
    stepsOf(reported.filter((each) => each.currency === currency)),
  );
}

export function refundedTotal(steps: readonly RefundStep[], currency: string): bigint {
  return steps.findLast(({ reported }) => reported.currency === currency)?.after ?? 0n;
}

/**
 * What a witness reports in its newest reading. At equal times (Stripe's are whole seconds) the
 * greatest total is the newest: a total grows, and a refund fails later.
 */
interface Kept {
  readonly at: number;
  readonly total: bigint;
}

function stepsOf(all: readonly ReportedRefund[]): RefundStep[] {
  const steps: RefundStep[] = [];
  let [single, apart] = [0n, 0n];
  const kept = new Map<string, Kept>();
  let before = 0n;
  for (const reported of all) {
    const { single: added, isApart, total: reading } = reported;
    if (isApart) apart += added;
    else single += added;
    if (added < 0n && !isApart) {
      // The last reading does not include a later failure.
      for (const [name, { at, total }] of kept) kept.set(name, { at, total: total + added });
    }
    if (reading !== null) {
      const known = kept.get(reported.witness);
      const isLess = known?.at === reported.at && known.total > reading;
      if (!isLess) kept.set(reported.witness, { at: reported.at, total: reading });
    }
    let after = single > 0n ? single : 0n;
    for (const { total } of kept.values()) if (total > after) after = total;
    after += apart;
    if (after === before) continue;
    // An earlier reading may have reported some of it.
    const isReported = reported.tax !== null && added !== 0n;
    const tax = isReported ? divideRounded((reported.tax ?? 0n) * (after - before), added) : null;
    steps.push({ reported, before, after, tax });
    before = after;
  }
  return steps;
}

type RefundReading = Reading<BodyOf<"Refund">>;

/**
 * Where a provider dates a refund by the event that shows it (Paddle), later events repeat it with
 * a later date, so the earliest counts. A refund that had failed by then never moved anything.
 */
function singles(facts: readonly Fact[]): ReportedRefund[] {
  const converted = readingsOf(facts, refundIn).filter(({ fact }) => fact.quote);
  return [...grouped(converted, ({ body }) => body.refund).values()].flatMap(reportedBy);
}

/** @param readings of one refund, in order of receipt */
function reportedBy(readings: readonly RefundReading[]): ReportedRefund[] {
  const body = readings.toSorted((one, other) => byNewest(one.fact, other.fact))[0]?.body;
  const first = earliest(readings);
  if (body === undefined || first === null) return [];
  // Later updates of a failed refund repeat the failure with their own time.
  const failures = readings.flatMap(({ body: { failed_at: at } }) => at ?? []);
  const failedAt = failures.length === 0 ? null : Math.min(...failures);
  if (failedAt !== null && failedAt <= first.at) return [];
  const { refund, amount, tax = null } = body;
  const made: ReportedRefund = {
    entry: `refund:${refund}`,
    at: first.at,
    currency: body.currency,
    quote: first.quote,
    lines: body.lines,
    country: body.country,
    tax,
    undoes: null,
    single: amount,
    isApart: readings.some((reading) => (reading.body.purchase ?? null) !== null),
    total: null,
    witness: "",
  };
  if (failedAt === null) return [made];
  const back = {
    entry: `refund_failed:${refund}`,
    at: failedAt,
    undoes: made.entry,
    single: -amount,
    tax: tax === null ? null : -tax,
  };
  return [made, { ...made, ...back }];
}

/** Of readings with one date the first received counts, so that the conversion stays. */
function earliest(readings: readonly RefundReading[]): { at: number; quote: Quote } | null {
  let found: { at: number; quote: Quote } | null = null;
  for (const { fact, body } of readings) {
    const isEarlier = found === null || body.at < found.at;
    if (fact.quote && isEarlier) found = { at: body.at, quote: fact.quote };
  }
  return found;
}

/**
 * A total covers the whole payment: one in another currency than the sale's repeats what those in
 * the sale's say (RevenueCat knows some purchases in dollars only, its export in their own
 * currency).
 */
function totals(facts: readonly Fact[], saleCurrency: string | null): ReportedRefund[] {
  const all = everyTotal(facts);
  const own = all.filter(({ currency }) => currency === saleCurrency);
  return own.length > 0 ? own : all;
}

function everyTotal(facts: readonly Fact[]): ReportedRefund[] {
  return facts.flatMap((fact) => {
    if (!("RefundTotal" in fact.body) || !fact.quote) return [];
    const { at, amount, currency, witness = "" } = fact.body.RefundTotal;
    // After a single refund of the same moment: "refund_total" sorts behind "refund:".
    const entry = `refund_total:${at}:${fact.event_id}`;
    const nothingMore = { lines: [], country: null, tax: null, undoes: null, single: 0n };
    const reported = { entry, at, currency, quote: fact.quote, total: amount, witness };
    return [{ ...reported, ...nothingMore, isApart: false }];
  });
}

/**
 * Refunds that name what was bought but not the payment: money returned outside Stripe for an
 * invoice. They cover the purchase one after another, as its payments do, and each payment gives
 * back what of its own part is covered (docs/decisions/refunds-and-disputes.md).
 * @returns the facts, with such refunds reduced to what this payment gives back
 */
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
