/**
 * What a subscription's current state reveals about its past: that it began, when a trial became
 * paid, what it is worth now, when it ended. Prices it had in between are not kept by Stripe; it is
 * reported as if the last had always been its price.
 */
import { z } from "zod";
import type { Reported as ReportedState } from "../../history-events.js";

/** An object of Stripe's lists. */
export const object = z.looseObject({
  id: z.string().min(1),
  created: z.number(),
  // Refunds have none.
  livemode: z.boolean().optional(),
});
export type HistoryObject = z.output<typeof object>;

/** As Stripe says it, with what changed. */
export interface Reported extends ReportedState {
  readonly previous?: Readonly<Record<string, unknown>>;
}

const updated = "customer.subscription.updated";
/** Stripe ends or pauses what nobody pays for some time after its trial's end, mostly seconds. */
const trialClosesWithinMs = 60 * 60 * 1000;
/** One that began later was given to a customer who paid. */
const trialBeginsWithinMs = 60 * 60 * 1000;

/** @param asOf ms since 1970, before the reading: the present state is as of then */
export function subscriptionHistory(subscription: HistoryObject, asOf: number): Reported[] {
  const { status } = subscription;
  // It never came to be.
  if (status === "incomplete" || status === "incomplete_expired") return [];
  const createdAt = subscription.created * 1000;
  // One that began since then began before it could be read all the same.
  const readAt = Math.max(asOf, createdAt);
  const trial = trialOf(subscription);
  const untilNow = timeOf(subscription.ended_at) ?? readAt;
  const begun = { ...subscription, ended_at: null, pause_collection: null };
  const asTrial = { ...begun, status: "trialing" };
  const asPaid = { ...begun, status: "active" };
  const reported: Reported[] = [];
  const start = { type: "customer.subscription.created", at: createdAt, once: "once" };
  reported.push({ object: trial?.isFirst === true ? asTrial : asPaid, ...start });
  if (trial?.isFirst === false) {
    const previous = { status: "active" };
    const once = `trial from ${trial.startsAt}`;
    reported.push({ type: updated, at: trial.startsAt, object: asTrial, previous, once });
  }
  if (trial !== null && trial.endsAt < untilNow && isPaidAfter(trial.endsAt, subscription)) {
    const previous = { status: "trialing" };
    // An earlier backfill may have read the end of the trial it began with: this is another's.
    const once = trial.isFirst ? "once" : `trial to ${trial.endsAt}`;
    reported.push({ type: updated, at: trial.endsAt, object: asPaid, previous, once });
  }
  reported.push(
    status === "canceled"
      ? { type: "customer.subscription.deleted", at: untilNow, object: subscription }
      : { type: updated, at: readAt, object: subscription, mayRecur: true },
  );
  return reported;
}

/**
 * The last trial, the only one Stripe reports: the subscription began with it, or it was given to
 * one that was paid by then (a free month).
 */
function trialOf({ created, trial_start: start, trial_end: end }: HistoryObject) {
  const createdAt = created * 1000;
  const startsAt = timeOf(start) ?? createdAt;
  const endsAt = timeOf(end);
  if (endsAt === null || endsAt <= createdAt) return null;
  return { startsAt, endsAt, isFirst: startsAt - createdAt <= trialBeginsWithinMs };
}

/** Whether a paid period began when the trial was over; one that stopped with it had none. */
function isPaidAfter(trialEndsAt: number, subscription: HistoryObject): boolean {
  const { status } = subscription;
  if (status === "trialing") return false;
  if (status !== "paused") return isLongAfter(trialEndsAt, timeOf(subscription.ended_at));
  const pause = pauseOf(subscription);
  // Where Stripe does not say why, it is what alone paused before it could be asked to.
  return pause !== null && !pause.isOfTrial && isLongAfter(trialEndsAt, pause.at);
}

/** @param stoppedAt null: it goes on, or nobody knows */
function isLongAfter(trialEndsAt: number, stoppedAt: number | null): boolean {
  return stoppedAt === null || stoppedAt - trialEndsAt > trialClosesWithinMs;
}

const pausedShape = z.object({
  paused: z.object({
    subscription: z.object({ type: z.string() }),
    transitioned_at: z.number().nullish(),
  }),
});

/** Why it is paused; null where Stripe, as in all versions before 2026-05-27, does not say. */
function pauseOf({ status_details: details }: HistoryObject) {
  const reported = pausedShape.safeParse(details);
  if (!reported.success) return null;
  const { subscription, transitioned_at: at } = reported.data.paused;
  return { isOfTrial: subscription.type === "trial_end_without_payment_method", at: timeOf(at) };
}

function timeOf(seconds: unknown): number | null {
  return typeof seconds === "number" ? seconds * 1000 : null;
}
