/**
 * Plans of Google Play that another replaces: `PRODUCT_CHANGE` ends one at a moment, unless a later
 * event of it shows a later period. That may begin a while before or after that moment, so both are
 * kept of each subscription.
 */
import { z } from "zod";
import { compiled } from "../fields.js";
import type { KeptObject, Known } from "../provider.js";
import { type RevenueCatEvent, subscriptionOf } from "./event.js";

interface Period {
  /** ms since 1970, as `until`. */
  readonly from: number;
  readonly until: number;
}

/** Both are periods: of an announced end the one that it is the end of. */
const names = { period: "periods", end: "ends" } as const;

export function keptOf(event: RevenueCatEvent): KeptObject[] {
  const [period, name] = [periodOf(event), nameOf(event)];
  if (period === null || name === null) return [];
  const object = { [`${period.from}/${period.until}`]: period };
  const kept = { reportedAt: 0, refers: [], object, merges: true, corrects: true } as const;
  return [{ id: idOf(name, event), ...kept }];
}

export function neededOf(event: RevenueCatEvent): string[] {
  const name = nameOf(event);
  if (name === null) return [];
  return [idOf(name === names.end ? names.period : names.end, event)];
}

/** Whether the announced end is none, because a later period of the plan was reported. */
export function isTakenBack(event: RevenueCatEvent, known: Known): boolean {
  const ended = periodOf(event);
  return ended !== null && keptIn(names.period, event, known).some((one) => isLater(one, ended));
}

/** When the plan was to end, where this period of it shows that it did not. */
export function endsTakenBack(event: RevenueCatEvent, known: Known): number[] {
  const period = periodOf(event);
  if (period === null) return [];
  const ends = keptIn(names.end, event, known).filter((ended) => isLater(period, ended));
  return [...new Set(ends.map(({ until }) => until))].filter((until) => until !== period.from);
}

/** A subscription that returns hours after its end had ended. */
const lateMsMax = 60 * 60 * 1000;

function isLater(later: Period, ended: Period): boolean {
  const { from, until } = later;
  return from > ended.from && until > ended.until && from < ended.until + lateMsMax;
}

function nameOf({ store, type }: RevenueCatEvent) {
  if (store !== "PLAY_STORE") return null;
  if (type === "PRODUCT_CHANGE") return names.end;
  return type === "INITIAL_PURCHASE" || type === "RENEWAL" ? names.period : null;
}

function periodOf(event: RevenueCatEvent): Period | null {
  const { purchased_at_ms: from, expiration_at_ms: until, event_timestamp_ms: at } = event;
  if (subscriptionOf(event) === null || typeof until !== "number") return null;
  return { from: Math.min(from ?? at, at), until };
}

function idOf(name: string, event: RevenueCatEvent): string {
  return `${name}:${subscriptionOf(event)}`;
}

const periodsShape = compiled(
  z.record(z.string(), z.object({ from: z.number(), until: z.number() })),
);

function keptIn(name: string, event: RevenueCatEvent, { kept }: Known): Period[] {
  return Object.values(periodsShape.safeParse(kept.get(idOf(name, event))).data ?? {});
}
