/**
 * Which plan a membership had when, by the pings about it. A change applies at once, or waits for
 * the end of the period that is paid; a newer change takes a waiting one back, and so does an end.
 * Source: antiwork/gumroad, Subscription::UpdaterService and RecurringChargeWorker.
 */
import { z } from "zod";
import type { KeptObject, Known } from "../provider.js";
import type { Membership } from "./ping.js";

export interface Plan {
  /** Minor units of the listing, whichever currency that is. */
  readonly price: bigint;
  /** That one charge pays for. */
  readonly months: bigint;
}

/** Times are ms since 1970. */
export interface PlanChange {
  readonly reportedAt: number;
  readonly validFrom: number;
  readonly before: Plan;
  readonly after: Plan;
}

interface End {
  readonly endedAt: number;
  /** It ended with the period that was paid, as it does when it is cancelled. */
  readonly withPeriod: boolean;
}

export interface Plans {
  /** In the order they were made. */
  readonly changes: readonly PlanChange[];
  readonly ends: readonly End[];
}

/** @returns null where the ping does not report both plans */
export function changeIn(membership: Membership, receivedAt?: number): PlanChange | null {
  const { effective_as_of: validFrom, recurrence: months } = membership;
  const { "old_plan[price_cents]": before, "new_plan[price_cents]": after } = membership;
  const { "old_plan[recurrence]": monthsBefore, "new_plan[recurrence]": monthsAfter } = membership;
  const then = monthsBefore ?? months ?? monthsAfter;
  const now = monthsAfter ?? months ?? monthsBefore;
  if (validFrom === undefined || before === undefined || after === undefined) return null;
  if (then === undefined || now === undefined) return null;
  return {
    reportedAt: receivedAt === undefined ? validFrom : receivedAt - waitedMs(membership),
    validFrom,
    before: { price: before, months: then },
    after: { price: after, months: now },
  };
}

/** How long the ping has been repeated: it says what was so when it was first sent. */
function waitedMs({ retry_count: retries = 0 }: Membership): number {
  return retryDelaysMs.slice(0, retries).reduce((sum, delay) => sum + delay, 0);
}

/** Source: antiwork/gumroad, PostToIndividualPingEndpointWorker. */
const retryDelaysMs = [60_000, 180_000, 600_000];

/** What the ping reports the plan, beside what is kept of it. */
export function keptPlans(membership: Membership, receivedAt?: number): KeptObject[] {
  const { subscription_id: subscription, ended_at: endedAt, ended_reason: reason } = membership;
  const change = changeIn(membership, receivedAt);
  const reported: Record<string, unknown> = {};
  if (change !== null) {
    const { validFrom, before, after } = change;
    const plans = [before, after].map(({ price, months }) => `${price}/${months}`);
    reported[`change:${validFrom}:${plans.join(":")}`] = {
      ...change,
      before: textOf(before),
      after: textOf(after),
    };
  }
  if (endedAt !== undefined) {
    reported[`end:${endedAt}`] = { endedAt, withPeriod: reason === "cancelled" };
  }
  if (Object.keys(reported).length === 0) return [];
  return [{ id: plansId(subscription), reportedAt: 0, refers: [], object: reported, merges: true }];
}

/** @param reported by the ping that is read, which may not be kept yet */
export function plansOf(
  subscription: string,
  kept: Known["kept"],
  reported: PlanChange | null = null,
): Plans {
  const events = Object.values(plansShape.safeParse(kept.get(plansId(subscription))).data ?? {});
  const changes = events.flatMap((event) => ("validFrom" in event ? [event] : []));
  return {
    changes: [...changes, reported ?? []].flat().sort((one, other) => madeAt(one) - madeAt(other)),
    ends: events.flatMap((event) => ("endedAt" in event ? [event] : [])),
  };
}

export interface PlanNow {
  /** Null where no change was ever reported. */
  readonly plan: Plan | null;
  readonly waiting: PlanChange | null;
}

export function planAt({ changes, ends }: Plans, at: number): PlanNow {
  let plan = changes[0]?.before ?? null;
  let waiting: PlanChange | null = null;
  const apply = (until: number): void => {
    if (waiting === null || waiting.validFrom > until) return;
    plan = waiting.after;
    waiting = null;
  };
  const moments = [
    ...changes.map((change) => ({ at: madeAt(change), appliedUntil: madeAt(change), change })),
    ...ends.map((end) => ({ at: end.endedAt, appliedUntil: appliedBefore(end), change: null })),
  ].sort((one, other) => one.at - other.at);
  for (const { appliedUntil, change } of moments.filter((moment) => moment.at <= at)) {
    apply(appliedUntil);
    plan = change?.before ?? plan;
    waiting = change;
  }
  apply(at);
  return { plan, waiting };
}

/** An announced one is reported when it is made; what applies at once may be reported later. */
function madeAt({ reportedAt, validFrom }: PlanChange): number {
  return Math.min(reportedAt, validFrom);
}

/** A change that waited for the end of that same period came too late; ends are reported late. */
function appliedBefore({ endedAt, withPeriod }: End): number {
  return withPeriod ? endedAt - dayMs : endedAt;
}

const dayMs = 24 * 60 * 60 * 1000;

export const plansId = (subscription: string): string => `plans:${subscription}`;

function textOf({ price, months }: Plan) {
  return { price: price.toString(), months: months.toString() };
}

const whole = z
  .string()
  .regex(/^\d+$/)
  .transform((text) => BigInt(text));
const planShape = z.object({ price: whole, months: whole });
const plansShape = z.record(
  z.string(),
  z.union([
    z.object({
      reportedAt: z.number(),
      validFrom: z.number(),
      before: planShape,
      after: planShape,
    }),
    z.object({ endedAt: z.number(), withPeriod: z.boolean() }),
  ]),
);
