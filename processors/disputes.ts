/** Disputes of a payment whose money was withdrawn, each with its newest amount and its times. */
import type { Fact, Line, Quote } from "../schemas/records.js";
import { byReceipt, newestFirst } from "./readings.js";

export interface Withdrawn {
  readonly dispute: string;
  /** Minor units of `currency`. */
  readonly amount: bigint;
  readonly currency: string;
  readonly quote: Quote;
  readonly withdrawnAt: number;
  readonly returnedAt: number | null;
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
  const returnedAt = timeOf(told, "returned_at");
  return [{ dispute, amount, currency, quote, withdrawnAt, returnedAt, lines, tax }];
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

const byTrust = ["money", "notice", "outcome"] as const;

/**
 * The newest reading of the money itself knows; else the earliest notice of it, else the earliest
 * outcome that implies it.
 */
function timeOf(told: readonly Fact[], field: "withdrawn_at" | "returned_at"): number | null {
  const readings = told.flatMap(({ body }) => ("Dispute" in body ? [body.Dispute] : []));
  for (const toldBy of byTrust) {
    const trusted = readings.filter((reading) => reading.told_by === toldBy);
    if (toldBy === "money" && trusted[0]) return trusted[0][field];
    const times = trusted.flatMap((reading) => reading[field] ?? []);
    if (times.length > 0) return Math.min(...times);
  }
  return null;
}
