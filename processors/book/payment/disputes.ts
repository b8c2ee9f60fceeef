/** Disputes of a payment whose money was withdrawn, each with its newest amount and its times. */
import { grouped } from "../../../runtime/lists.js";
import type { BodyOf, Fact, Line, Quote } from "../../../schemas/records/records.js";
import { byNewest, byReceipt, type Reading, readingsOf } from "../../normalize/facts.js";

export interface Withdrawn {
  readonly dispute: string;
  /** Minor units of `currency`. */
  readonly amount: bigint;
  readonly currency: string;
  readonly quote: Quote;
  readonly withdrawnAt: number;
  readonly returns: readonly Return[];
  /** The lines it names; empty: it is spread like the sale. */
  readonly lines: readonly Line[];
  /** Minor units of `currency`, within `amount`; null: not reported. */
  readonly tax: bigint | null;
}

interface Return {
  readonly at: number;
  /** Minor units of the dispute's currency. */
  readonly amount: bigint;
}

/** An inquiry never withdraws anything and is left out. */
export function disputesOf(facts: readonly Fact[]): readonly Withdrawn[] {
  const newestFirst = readingsOf(facts, (body) => ("Dispute" in body ? body.Dispute : null)).sort(
    (one, other) => byNewest(one.fact, other.fact),
  );
  const readings = grouped(newestFirst, ({ body }) => body.dispute);
  const reported = [...readings.keys()].sort().map((dispute) => readings.get(dispute) ?? []);
  const returns = reported.flatMap(loneReturn).sort((one, other) => one.at - other.at);
  return withReturns(reported.flatMap(withdrawnBy), returns);
}

export function isOpen(dispute: Withdrawn): boolean {
  return outOf(dispute) > 0n;
}

/** What has not come back, in minor units of its currency. */
function outOf({ amount, returns }: Withdrawn): bigint {
  return returns.reduce((left, back) => left - back.amount, amount);
}

type DisputeBody = BodyOf<"Dispute">;
type Readings = readonly Reading<DisputeBody>[];

function withdrawnBy(reported: Readings): Withdrawn[] {
  const [newest] = reported;
  const withdrawnAt = timeOf(reported, "withdrawn_at");
  const quote = quoteOfWithdrawal(reported, withdrawnAt);
  if (!newest || withdrawnAt === null || !quote) return [];
  const { dispute, amount, currency, lines = [], tax = null } = newest.body;
  const backAt = timeOf(reported, "returned_at");
  const part = readingOfMoney(reported)?.returned_amount ?? amount;
  const back = part < amount ? part : amount;
  const returns = backAt === null || back <= 0n ? [] : [{ at: backAt, amount: back }];
  return [{ dispute, amount, currency, quote, withdrawnAt, returns, lines, tax }];
}

/**
 * The rate of the day the money was withdrawn, which counts while the sale is unknown. Of readings
 * with that date the first received counts, so that the conversion stays.
 */
function quoteOfWithdrawal(reported: Readings, withdrawnAt: number | null): Quote | null {
  const [first] = reported
    .filter(({ fact, body }) => body.withdrawn_at === withdrawnAt && fact.quote)
    .sort((one, other) => byReceipt(one.fact, other.fact));
  return first?.fact.quote ?? null;
}

interface LoneReturn extends Return {
  readonly currency: string;
  readonly lines: readonly Line[];
}

/**
 * Money that came back under an id that was never withdrawn: at Paddle each move has its own id.
 */
function loneReturn(reported: Readings): LoneReturn[] {
  const [newest] = reported;
  const at = timeOf(reported, "returned_at");
  if (!newest || at === null || timeOf(reported, "withdrawn_at") !== null) return [];
  const { amount, currency, lines = [] } = newest.body;
  return [{ at, amount, currency, lines }];
}

function withReturns(
  disputes: readonly Withdrawn[],
  returns: readonly LoneReturn[],
): readonly Withdrawn[] {
  const known = [...disputes].sort((one, other) => one.withdrawnAt - other.withdrawnAt);
  for (const back of returns) giveBack(back, known);
  return known.sort((one, other) => (one.dispute < other.dispute ? -1 : 1));
}

/** What exceeds the dispute it goes to goes to another one. */
function giveBack(back: LoneReturn, known: Withdrawn[]): void {
  const dispute = disputeOf(back, known);
  if (dispute === undefined) return;
  const out = outOf(dispute);
  const amount = back.amount < out ? back.amount : out;
  const returns = [...dispute.returns, { at: back.at, amount }];
  known[known.indexOf(dispute)] = { ...dispute, returns };
  if (amount < back.amount) giveBack({ ...back, amount: back.amount - amount }, known);
}

/**
 * The dispute that a return without a reference belongs to, of those open then: with the same lines
 * and amount; else with the same amount; else any. Of several the one that was open the longest.
 */
function disputeOf(back: LoneReturn, known: readonly Withdrawn[]): Withdrawn | undefined {
  const open = known.filter(
    (dispute) =>
      dispute.withdrawnAt <= back.at && dispute.currency === back.currency && isOpen(dispute),
  );
  const asMuch = open.filter((dispute) => outOf(dispute) === back.amount);
  const alike = asMuch.find((dispute) => namesOf(dispute.lines) === namesOf(back.lines));
  return alike ?? asMuch[0] ?? open[0];
}

function namesOf(lines: readonly Line[]): string {
  const names = lines.map(({ external_id, item = "" }) => JSON.stringify([external_id, item]));
  return names.sort().join();
}

/**
 * The time in the newest reading of the money itself; else in the earliest notice of it, else in
 * the earliest outcome that implies it.
 */
function timeOf(reported: Readings, field: "withdrawn_at" | "returned_at"): number | null {
  const money = readingOfMoney(reported);
  if (money !== null) return money[field];
  for (const reportedBy of ["notice", "outcome"] as const) {
    const times = reported.flatMap(({ body }) =>
      body.reported_by === reportedBy ? (body[field] ?? []) : [],
    );
    if (times.length > 0) return Math.min(...times);
  }
  return null;
}

/**
 * The newest reading. Stripe's times are whole seconds: of those in one second the newest shows the
 * return, since no id says which came first.
 */
function readingOfMoney(reported: Readings): DisputeBody | null {
  const readings = reported.filter(({ body }) => body.reported_by === "money");
  const at = readings[0]?.fact.happened_at;
  const newest = readings.filter(({ fact }) => fact.happened_at === at);
  const shown = newest.find(({ body }) => body.returned_at !== null) ?? newest[0];
  return shown?.body ?? null;
}
