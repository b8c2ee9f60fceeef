/** Disputes of a payment whose money was withdrawn, each with its newest amount and its times. */
import type { Fact, Quote } from "../schemas/records.js";
import { newestFirst } from "./readings.js";

export interface Withdrawn {
  readonly dispute: string;
  /** Minor units of `currency`. */
  readonly amount: bigint;
  readonly currency: string;
  readonly quote: Quote;
  readonly withdrawnAt: number;
  readonly returnedAt: number | null;
}

/** An inquiry never withdraws anything and is not among them. */
export function disputesOf(facts: readonly Fact[]): Withdrawn[] {
  const readings = new Map<string, Fact[]>();
  for (const fact of newestFirst(facts)) {
    if (!("Dispute" in fact.body)) continue;
    const { dispute } = fact.body.Dispute;
    readings.set(dispute, [...(readings.get(dispute) ?? []), fact]);
  }
  return [...readings.keys()].sort().flatMap((dispute) => {
    const told = readings.get(dispute) ?? [];
    const newest = told[0];
    const withdrawnAt = timeOf(told, "withdrawn_at");
    // The rate of the first reading stays; a reading without a time carries none.
    const quote = facts.find((fact) => fact.quote && told.includes(fact))?.quote;
    if (!newest || !("Dispute" in newest.body) || withdrawnAt === null || !quote) return [];
    const { amount, currency } = newest.body.Dispute;
    return [
      { dispute, amount, currency, quote, withdrawnAt, returnedAt: timeOf(told, "returned_at") },
    ];
  });
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
