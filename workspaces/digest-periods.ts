/** Which days a digest is about, and when it is sent. UTC; weeks begin on Monday. Pure. */
import type { Frequency } from "../schemas/http/outbound/digests.js";
import { startOfMonth } from "../schemas/months.js";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
/** Between the end of a period and its digest, for late webhooks and a decent hour. */
const waitMs = 6 * hourMs;
/** 1970 began on a Thursday. */
const mondayMs = 4 * dayMs;

/** @param at ms since 1970 @returns the first end of a period after it */
export function nextPeriodEnd(frequency: Frequency, at: number): number {
  if (frequency === "monthly") return startOfMonth(at, 1);
  if (frequency === "daily") return (Math.floor(at / dayMs) + 1) * dayMs;
  const weekMs = 7 * dayMs;
  return (Math.floor((at - mondayMs) / weekMs) + 1) * weekMs + mondayMs;
}

export function lastPeriodEnd(frequency: Frequency, at: number): number {
  return periodStart(frequency, nextPeriodEnd(frequency, at));
}

export function periodStart(frequency: Frequency, end: number): number {
  if (frequency === "monthly") return startOfMonth(end, -1);
  return end - (frequency === "daily" ? dayMs : 7 * dayMs);
}

export function dueAfter(periodEnd: number): number {
  return periodEnd + waitMs;
}
