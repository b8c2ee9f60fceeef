/** Disputes of a payment whose money was withdrawn, each with its newest amount and its times. */
import type { Fact, FactBody, Line, Quote } from "../schemas/records.js";
import { byReceipt, newestFirst } from "./readings.js";

export interface Withdrawn {
  readonly dispute: string;
  /** Minor units of `currency`. */
  readonly amount: bigint;
  readonly currency: string;
  readonly quote: Quote;
  readonly withdrawnAt: number;
  /** When all of it was back; null while the dispute is open. */
  readonly returnedAt: number | null;
  /** What came back of one that is lost in part. */
  readonly partBack: { readonly at: number; readonly amount: bigint } | null;
  /** Those it names; empty: spread like the sale. */
  readonly lines: readonly Line[];
  /** Minor units of `currency`, within `amount`; null: nobody tells it. */
  readonly tax: bigint | null;
}

/** An inquiry never withdraws anything and is not among them. */
export function disputesOf(facts: readonly Fact[]): readonly Withdrawn[] {
  const readings = readingsOf(facts);
  const told = [...readings.keys()].sort().map((dispute) => readings.get(dispute) ?? []);
  const returns = told.flatMap((each) => loneReturn(each) ?? []).sort((one, other) => one - other);
  return withReturns(told.flatMap(withdrawnBy), returns);
}

function readingsOf(facts: readonly Fact[]): Map<string, Fact[]> {
  const readings = new Map<string, Fact[]>();
  for (const fact of newestFirst(facts.filter(({ body }) => "Dispute" in body))) {
    if (!("Dispute" in fact.body)) continue;
    const { dispute } = fact.body.Dispute;
    const known = readings.get(dispute);
    if (known) known.push(fact);
    else readings.set(dispute, [fact]);
  }
  return readings;
}

/** @param told all readings of one dispute, newest first */
function withdrawnBy(told: readonly Fact[]): Withdrawn[] {
  const newest = told[0];
  const withdrawnAt = timeOf(told, "withdrawn_at");
  const quote = quoteOfWithdrawal(told.toSorted(byReceipt), withdrawnAt);
  if (!newest || !("Dispute" in newest.body) || withdrawnAt === null || !quote) return [];
  const { dispute, amount, currency, lines = [], tax = null } = newest.body.Dispute;
  const backAt = timeOf(told, "returned_at");
  const part = readingOfMoney(told)?.returned_amount ?? amount;
  const partBack = backAt !== null && part < amount ? { at: backAt, amount: part } : null;
  const times = { withdrawnAt, returnedAt: partBack === null ? backAt : null, partBack };
  return [{ dispute, amount, currency, quote, ...times, lines, tax }];
}

/**
 * The rate of the day the money was withdrawn, which counts while the sale is unknown: of readings
 * with that date the first received, since what is converted stays converted.
 */
function quoteOfWithdrawal(readings: readonly Fact[], withdrawnAt: number | null): Quote | null {
  for (const { body, quote } of readings) {
    if ("Dispute" in body && body.Dispute.withdrawn_at === withdrawnAt && quote) return quote;
  }
  return null;
}

/** When money came back under an id that was never withdrawn: at Paddle each move has its own. */
function loneReturn(told: readonly Fact[]): number | null {
  return timeOf(told, "withdrawn_at") === null ? timeOf(told, "returned_at") : null;
}

/** Each return in order of time goes to the dispute that was open then and the longest. */
function withReturns(
  disputes: readonly Withdrawn[],
  returns: readonly number[],
): readonly Withdrawn[] {
  const open = [...disputes].sort((one, other) => one.withdrawnAt - other.withdrawnAt);
  for (const returnedAt of returns) {
    const index = open.findIndex(
      (dispute) => dispute.returnedAt === null && dispute.withdrawnAt <= returnedAt,
    );
    const dispute = open[index];
    if (dispute !== undefined) open[index] = { ...dispute, returnedAt };
  }
  return open.sort((one, other) => (one.dispute < other.dispute ? -1 : 1));
}

/**
 * The newest reading of the money itself knows; else the earliest notice of it, else the earliest
 * outcome that implies it.
 */
function timeOf(told: readonly Fact[], field: "withdrawn_at" | "returned_at"): number | null {
  const money = readingOfMoney(told);
  if (money !== null) return money[field];
  for (const toldBy of ["notice", "outcome"] as const) {
    const times = told.flatMap(({ body }) =>
      "Dispute" in body && body.Dispute.told_by === toldBy ? (body.Dispute[field] ?? []) : [],
    );
    if (times.length > 0) return Math.min(...times);
  }
  return null;
}

type DisputeBody = Extract<FactBody, { Dispute: unknown }>["Dispute"];

/**
 * The newest. Stripe's times are whole seconds: of those told in one the newest shows the return,
 * whatever their ids, since none shows it before it is there.
 *
 * @param told newest first
 */
function readingOfMoney(told: readonly Fact[]): DisputeBody | null {
  const readings = told.flatMap(({ body, happened_at: at }) =>
    "Dispute" in body && body.Dispute.told_by === "money" ? [{ at, body: body.Dispute }] : [],
  );
  const newest = readings.filter(({ at }) => at === readings[0]?.at);
  const shown = newest.find(({ body }) => body.returned_at !== null) ?? newest[0];
  return shown?.body ?? null;
}
